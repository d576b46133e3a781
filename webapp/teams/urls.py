from django.urls import path

from webapp.teams import pages

urlpatterns = [
    path("teams", pages.teams, name="teams"),
    path("teams/<int:pk>", pages.team, name="team"),
    path("teams/<int:pk>/rename", pages.rename, name="rename-team"),
    path("teams/<int:pk>/delete", pages.delete, name="delete-team"),
    path("teams/<int:pk>/invite", pages.invite, name="invite"),
    path("teams/<int:pk>/invitations/<int:invitation>/withdraw", pages.withdraw, name="withdraw"),
    path("teams/<int:pk>/people/<int:person>/role", pages.change_role, name="change-role"),
    path("teams/<int:pk>/people/<int:person>/remove", pages.remove, name="remove-member"),
    path("teams/join/<str:token>", pages.join, name="join-team"),
]
