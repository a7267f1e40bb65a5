"""A headless Chromium driven through its debugging pipe: real keys, real widths, the page's own policy in force."""

import base64
import json
import os
import shutil
import subprocess
import time

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe"),
)
KEYS = {"Tab": 9, "Enter": 13, " ": 32}


class Browser:
    """One page. `open(path, fragment, width, height)`, `js(expression)`, `key(name)`, `write(text)`, `picture()`."""

    def __init__(self, profile):
        there, self.out = os.pipe()
        self.into, back = os.pipe()

        def wire():  # the pipe is expected on descriptors 3 and 4
            a, b = os.dup(there), os.dup(back)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [PROGRAM, *FLAGS, f"--user-data-dir={profile}"], close_fds=False, preexec_fn=wire,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self.count, self.rest, self.session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.out)
            os.close(self.into)

    def _message(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            if not more:
                raise RuntimeError("the browser has gone")
            self.rest += more
        raw, self.rest = self.rest.split(b"\0", 1)
        return json.loads(raw)

    def call(self, method, **params):
        """The result of one command of the debugging protocol."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path, fragment="", width=1280, height=900, scale=1):
        """Load a file anew and wait until it stands."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)
        self.call("Page.navigate", url="about:blank")
        self.js("new Promise(r => setTimeout(r, 50))")
        self.call("Page.navigate", url=f"file://{path}{fragment}")
        assert self.wait("document.readyState === 'complete' && location.protocol === 'file:'"), "the page did not load"
        return self

    def wait(self, expression, seconds=10) -> bool:
        """Whether an expression becomes true in time; the page may lead to another one meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.js(expression):
                    return True
            except AssertionError as error:
                if not any(word in str(error) for word in ("navigated", "context")):
                    raise
            time.sleep(0.05)
        return False

    def js(self, expression):
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def key(self, name):
        """Press and release one key."""
        text = {"Enter": "\r", " ": " "}.get(name, "")
        common = {"key": name, "windowsVirtualKeyCode": KEYS[name], "code": "Space" if name == " " else name}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text):
        """Type into the focused field."""
        self.call("Input.insertText", text=text)

    def picture(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def paper(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


def pictures(report, folder):
    """The pictures of the README: the top of a report on a laptop and on a phone, as small PNG files."""
    import io
    import tempfile
    from pathlib import Path

    from PIL import Image

    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        try:
            for name, width, height in (("laptop", 1280, 900), ("phone", 390, 844)):
                browser.open(Path(report).resolve() / "index.html", "", width, height)
                image = Image.open(io.BytesIO(browser.picture())).convert("RGB")
                image.quantize(128, dither=Image.Dither.NONE).save(Path(folder) / f"report-{name}.png", optimize=True)
        finally:
            browser.close()


if __name__ == "__main__":
    import sys

    pictures(*sys.argv[1:])  # the report's folder, and the folder for the pictures
