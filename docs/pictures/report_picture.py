"""Draw docs/pictures/report.png: `python docs/pictures/report_picture.py`; needs chromium and its driver."""  # noqa: INP001 - a script

import io
import shutil
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa.report import write_report

SIZE = (1200, 900)  # of the picture: the first screen
COLOURS = 128

data = copa.datasets.load_german()
X, y = data.features, data.favourable
numbers = X.select_dtypes("number").columns
encoder = make_column_transformer((OneHotEncoder(), X.columns.difference(numbers)), (StandardScaler(), numbers))
model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(X, y)
planner = copa.RecoursePlanner(model, schema=data.schema, guarantee=0.8, n_options=3).fit(X, y)
page = Path(tempfile.mkdtemp()) / "report.html"
write_report(planner.plan(X[~model.predict(X)].head(40)), page, planner=planner, title="Forty declined loan applicants")

options = webdriver.ChromeOptions()
options.binary_location = shutil.which("chromium") or ""
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
    options.add_argument(argument)
browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
view = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", view)
browser.get(page.as_uri())
time.sleep(1.0)
picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB").crop((0, 0, *SIZE))
picture.quantize(COLOURS).save(Path(__file__).with_name("report.png"), optimize=True)
browser.quit()
