from django.urls import path

from webapp.links import pages

urlpatterns = [
    path("v/<slug:key>", pages.follow_short_link, name="short-link"),
    path("v/<slug:key>/delete", pages.delete_short_link, name="delete-short-link"),
    path("public/<str:token>", pages.follow_public_link, name="public-link"),
    path("recordings/<int:pk>/public-links", pages.make_public_link, name="make-public-link"),
    path("reviews/<int:pk>/public-links", pages.make_public_link_to_review, name="show-review"),
    path("public-links/<int:pk>/withdraw", pages.withdraw, name="withdraw-public-link"),
    path("teams/<int:pk>/public-links", pages.decide_for_team, name="team-public-links"),
]
