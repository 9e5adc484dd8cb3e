"""Draw docs/pictures/explorer.png: `python docs/pictures/explorer_picture.py`; needs chromium and its driver."""  # noqa: INP001 - a script

import io
import shutil
import socket
import threading
import time
from pathlib import Path

import uvicorn
from PIL import Image
from selenium import webdriver
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa.service import create_app

SIZE = (1280, 960)  # of the picture: the first screen
COLOURS = 128

data = copa.datasets.load_german()
X, y = data.features, data.favourable
numbers = X.select_dtypes("number").columns
encoder = make_column_transformer((OneHotEncoder(), X.columns.difference(numbers)), (StandardScaler(), numbers))
model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(X, y)
planner = copa.RecoursePlanner(model, schema=data.schema, guarantee=0.8, n_options=3).fit(X, y)
server = uvicorn.Server(uvicorn.Config(create_app(planner), log_level="error"))
bound = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=server.run, args=([bound],), daemon=True).start()

options = webdriver.ChromeOptions()
options.binary_location = shutil.which("chromium") or ""
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
    options.add_argument(argument)
browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
view = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", view)
browser.get(f"http://127.0.0.1:{bound.getsockname()[1]}/")
browser.implicitly_wait(30.0)
browser.find_element("css selector", ".copa-card")
browser.find_element("css selector", '#form [data-wish="amount"] > button').click()
time.sleep(2.0)
picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB").crop((0, 0, *SIZE))
picture.quantize(COLOURS).save(Path(__file__).with_name("explorer.png"), optimize=True)
browser.quit()
server.should_exit = True
