"""What keeps open pages current."""


def test_an_idle_websocket_stays_open(server, page):
    page.goto("/jobs")
    seconds = page.evaluate(
        """() => new Promise(resolve => {
          const began = performance.now();
          const socket = new WebSocket(`ws://${location.host}/ws/jobs`);
          const stop = setTimeout(() => resolve(8), 8000);
          socket.onclose = () => {
            clearTimeout(stop);
            resolve((performance.now() - began) / 1000);
          };
        })"""
    )
    assert seconds == 8, f"the server closed it after {seconds:.1f} s"
