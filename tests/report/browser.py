"""Runs Chromium without a window, through its debugging pipe. No package is needed for it.

    with Browser() as browser:
        browser.open("file:///tmp/page.html")
        browser.value("document.title")
"""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program():
    """Returns the browser of this machine, or None if no browser is found. The environment's CHROMIUM
    overrides it."""
    for name in (os.environ.get("CHROMIUM", ""), *PROGRAMS):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self, wide=1280, high=900):
        self.folder = tempfile.mkdtemp(prefix="assay_browser_")
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def as_three_and_four():
            # The copies get numbers above 4, so that neither is closed before it is copied.
            first, second = os.dup(to_browser), os.dup(from_browser)
            while min(first, second) <= 4:
                first, second = os.dup(first), os.dup(second)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", f"--window-size={wide},{high}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=as_three_and_four)
        os.close(to_browser)
        os.close(from_browser)
        self.numbers, self.rest, self.session = itertools.count(1), b"", None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.size(wide, high)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close", limit=10)
        except (OSError, RuntimeError):
            pass
        for end in (self.commands, self.answers):
            os.close(end)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, limit=60, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        end = time.monotonic() + limit
        while True:
            answer = self.next_message(end, method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def next_message(self, end, what):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            part = os.read(self.answers, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError(f"the browser does not answer: {what}")
            self.rest += part
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, url, limit=60):
        """Loads a page. Returns the seconds until its script has run and its table has its layout.
        """
        self.events = []
        start = time.monotonic()
        self.call("Page.navigate", url=url)
        end = start + limit
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.next_message(end, "load")
        self.value("document.body.getBoundingClientRect().height")
        return time.monotonic() - start

    def value(self, script):
        """Returns the value of a line of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def complaints(self):
        """Returns errors of the page and of its scripts, dialogs, and everything that it requested
        from a network."""
        # After this answer, all earlier events have arrived.
        self.value("0")
        found = []
        for event in self.events:
            method, what = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(what["exceptionDetails"].get("exception", {}).get(
                    "description", what["exceptionDetails"]["text"]))
            elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert"):
                found.append(str(what["args"]))
            elif method == "Page.javascriptDialogOpening":
                found.append("dialog: " + what["message"])
            elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(
                    ("file:", "data:", "about:")):
                found.append("asked for " + what["request"]["url"])
        return found

    def size(self, wide, high):
        self.call("Emulation.setDeviceMetricsOverride", width=wide, height=high,
                  deviceScaleFactor=1, mobile=False)

    def dark(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def scripts(self, run):
        self.call("Emulation.setScriptExecutionDisabled", value=not run)

    def picture(self, path, whole=False):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
