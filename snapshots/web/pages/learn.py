"""The page with the tours of the samples, in the order of learning, and the terms."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.guides import CHAPTERS, TERMS
from snapshots.services.gallery import SAMPLES
from snapshots.web.pages.rendering import page


@page
@require_safe
def learn(request: HttpRequest) -> HttpResponse:
    samples = {sample.slug: sample for sample in SAMPLES}
    rows = access.recordings(request.user).filter(owner=None, slug__in=samples)
    loaded = {row.slug: row for row in rows}
    chapters = [
        (
            title,
            sentence,
            [(samples[guide.slug], guide, loaded.get(guide.slug)) for guide in guides],
        )
        for title, sentence, guides in CHAPTERS
    ]
    context = {"chapters": chapters, "terms": TERMS.values()}
    return render(request, "snapshots/learn/learn.html", context)
