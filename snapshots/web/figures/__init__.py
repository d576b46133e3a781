"""Plotly figures that the server makes; static/js/lib/served-figures.js lets Plotly draw them."""
