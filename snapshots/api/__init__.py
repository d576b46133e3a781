from ninja import NinjaAPI

api = NinjaAPI(title="Cutline", version="1")
