// Opens the page from file:// in Chromium: no console error, no request, keyboard, dark and light, hostile names.
// node page.test.mjs MODULES OUT CHROMIUM PAGE LARGE_PAGE STUDY_PAGE SWEEP_PAGE
import assert from 'node:assert/strict';
import {readFileSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [modules, out, chromiumPath, page, largePage, studyPage, sweepPage] = process.argv.slice(2);
const {chromium} = createRequire(join(resolve(modules), 'from-here.js'))('playwright-core');

let passed = 0;
let failed = 0;
async function test(name, body) {
  try {
    await body();
    ++passed;
    console.log(`pass  ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAIL  ${name}\n${error.stack ?? error}`);
  }
}

const browser = await chromium.launch({
  executablePath: chromiumPath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});

/** A tab that collects everything that should not happen. */
async function open(file, options = {}) {
  const context = await browser.newContext({viewport: {width: 1360, height: 900}, acceptDownloads: true, ...options});
  const tab = await context.newPage();
  const url = pathToFileURL(resolve(file)).href;
  const faults = [];
  tab.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  tab.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  tab.on('request', (request) => {
    const blob = request.url().startsWith('blob:');
    if (request.url() !== url && !blob) faults.push(`request: ${request.url()}`);
  });
  tab.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await tab.goto(url);
  return {tab, context, faults};
}

const ready = (tab) => tab.waitForSelector('html[data-ready=yes]');
const range = (tab) => tab.getByTestId('timeline-range').textContent();

for (const scheme of ['light', 'dark']) {
  await test(`opens from file:// without an error or a request, ${scheme}`, async () => {
    const {tab, context, faults} = await open(page, {colorScheme: scheme});
    await ready(tab);
    await tab.waitForTimeout(300);
    await tab.screenshot({path: join(out, `${scheme}.png`), fullPage: true});
    assert.equal(await tab.locator('html').getAttribute('data-theme'), scheme);
    assert.deepEqual(faults, []);
    await context.close();
  });
}

await test('hostile names stay text', async () => {
  const {tab, context, faults} = await open(page);
  await ready(tab);
  assert.equal(await tab.locator('img').count(), 0);
  assert.ok((await tab.locator('table.code td', {hasText: '</script><img src=x'}).count()) > 0);
  assert.equal(await tab.evaluate(() => document.body.textContent.includes('\u202e')), false);
  assert.deepEqual(faults, []);
  await context.close();
});

await test('nothing can be fetched from the page', async () => {
  const {tab, context} = await open(page);
  await ready(tab);
  const blocked = await tab.evaluate(async () => {
    const violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective));
    const fetched = await fetch('http://127.0.0.1:9/').then(() => 'fetched', () => 'blocked');
    const shown = await new Promise((done) => {
      const image = new Image();
      image.onload = () => done('shown');
      image.onerror = () => done('blocked');
      image.src = 'http://127.0.0.1:9/x.png';
    });
    return [fetched, shown, violations];
  });
  assert.deepEqual(blocked, ['blocked', 'blocked', ['connect-src', 'img-src']], 'it is the policy that blocks');
  await context.close();
});

await test('the theme can be changed by hand', async () => {
  const {tab, context, faults} = await open(page, {colorScheme: 'light'});
  await ready(tab);
  await tab.getByRole('button', {name: 'Dark colours'}).click();
  assert.equal(await tab.locator('html').getAttribute('data-theme'), 'dark');
  const dark = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await tab.getByRole('button', {name: 'Light colours'}).click();
  const light = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.notEqual(dark, light);
  assert.deepEqual(faults, []);
  await context.close();
});

await test('times are those of the trace, also on a small screen', async () => {
  for (const width of [1360, 390]) {
    const {tab, context, faults} = await open(page, {viewport: {width, height: 800}});
    await ready(tab);
    await tab.waitForTimeout(200);
    assert.match(await range(tab), /40\.0+ ms/, 'the span begins 40 ms after the first event');
    const ruler = await tab.getByRole('application').evaluate((canvas) => {
      const ratio = canvas.width / canvas.clientWidth;
      const from = Math.ceil((canvas.clientWidth < 600 ? 86 : 134) * ratio);
      const pixels = canvas.getContext('2d').getImageData(from, 0, canvas.width - from, Math.floor(16 * ratio)).data;
      let inked = 0;
      for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] > 0 ? 1 : 0;
      return inked;
    });
    assert.ok(ruler > 60, `the time axis has labels at ${width} px (${ruler} pixels)`);
    await tab.getByRole('application').screenshot({path: join(out, `axis-${width}.png`)});
    assert.deepEqual(faults, []);
    await context.close();
  }
});

await test('the timeline works by keyboard alone', async () => {
  const {tab, context, faults} = await open(page);
  await ready(tab);
  const canvas = tab.getByRole('application');
  // Reach it with the Tab key, as a reader would.
  let focused = false;
  for (let i = 0; i < 40 && !focused; ++i) {
    await tab.keyboard.press('Tab');
    focused = await canvas.evaluate((element) => element === document.activeElement);
  }
  assert.ok(focused, 'Tab reaches the timeline');
  const whole = await range(tab);
  await tab.keyboard.press('+');
  await tab.keyboard.press('+');
  const near = await range(tab);
  assert.notEqual(near, whole);
  await tab.keyboard.press('ArrowRight');
  assert.notEqual(await range(tab), near);
  await tab.keyboard.press('n');
  const first = await tab.getByTestId('timeline-told').textContent();
  await tab.keyboard.press('n');
  const second = await tab.getByTestId('timeline-told').textContent();
  assert.match(first, /kind kernel/);
  assert.notEqual(first, second);
  await tab.keyboard.press('ArrowDown');
  assert.match(await tab.getByTestId('timeline-told').textContent(), /stream 24/);
  await tab.screenshot({path: join(out, 'keyboard.png')});
  await tab.keyboard.press('0');
  assert.equal(await range(tab), whole);
  assert.deepEqual(faults, []);
  await context.close();
});

await test('the timeline works by mouse', async () => {
  const {tab, context, faults} = await open(page);
  await ready(tab);
  const canvas = tab.getByRole('application');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const whole = await range(tab);
  await tab.mouse.move(box.x + box.width / 2, box.y + 120);
  await tab.keyboard.down('Control');
  await tab.mouse.wheel(0, -600);
  await tab.keyboard.up('Control');
  await tab.waitForTimeout(100);
  const near = await range(tab);
  assert.notEqual(near, whole);
  await tab.mouse.down();
  await tab.mouse.move(box.x + box.width / 2 + 200, box.y + 120, {steps: 4});
  await tab.mouse.up();
  assert.notEqual(await range(tab), near);
  await tab.mouse.move(box.x + box.width / 2 + 40, box.y + 120);
  await tab.waitForSelector('.canvas-box .tip');
  await canvas.screenshot({path: join(out, 'timeline.png')});
  await tab.screenshot({path: join(out, 'tip.png')});
  assert.deepEqual(faults, []);
  await context.close();
});

await test('tables sort and filter', async () => {
  const {tab, context, faults} = await open(page);
  await ready(tab);
  const table = tab.locator('table[data-title="Kernels"]');
  const values = async (column) =>
    table.locator(`tbody tr:not([hidden]) td:nth-child(${column})`).evaluateAll((cells) => cells.map((c) => c.dataset.v));
  await tab.getByRole('button', {name: 'Slack', exact: true}).click();
  const slack = await values(8);
  const known = slack.filter((v) => v !== '').map(Number);
  assert.deepEqual(known, [...known].sort((a, b) => b - a));
  assert.ok(slack.slice(known.length).every((v) => v === ''), 'what is unknown stands last');
  const header = table.getByRole('button', {name: /count/});
  await header.focus();
  await tab.keyboard.press('Enter');
  await tab.keyboard.press('Enter');
  const counts = (await values(3)).map(Number);
  assert.deepEqual(counts, [...counts].sort((a, b) => a - b));
  assert.equal(await table.locator('th[aria-sort=ascending]').count(), 1);
  await tab.getByRole('searchbox', {name: 'Filter Kernels'}).fill('flash fwd');
  const names = await table.locator('tbody tr:not([hidden]) td:first-child').allTextContents();
  assert.ok(names.length > 3 && names.every((name) => name.includes('flash')));
  assert.deepEqual(faults, []);
  await context.close();
});

await test('JSON and CSV can be saved', async () => {
  const {tab, context, faults} = await open(page);
  await ready(tab);
  const save = async (name) => {
    const [download] = await Promise.all([tab.waitForEvent('download'), tab.getByRole('button', {name, exact: true}).click()]);
    return {name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8')};
  };
  const json = await save('JSON');
  assert.equal(json.name, 'ergon-plan.json');
  assert.equal(JSON.parse(json.text).schema, 'ergon.plan/1');
  const csv = await save('CSV');
  assert.match(csv.text, /^# Energy by component\n/);
  assert.match(csv.text, /\n# Kernels\nkernel,kind,count,time \(ms\)/);
  assert.deepEqual(faults, []);
  await context.close();
});

await test('the frontier names its points', async () => {
  const {tab, context, faults} = await open(page);
  await ready(tab);
  for (const label of ['lower bound', 'frontier', 'single clocks', 'default', 'best single', 'plan']) {
    assert.equal(await tab.locator('.frontier .legend li', {hasText: label}).count() > 0, true, label);
  }
  const plot = tab.locator('.frontier .u-over');
  const box = await plot.boundingBox();
  let tip = '';
  for (let x = 10; x < box.width && tip === ''; x += 12) {
    for (let y = 10; y < box.height && tip === ''; y += 24) {
      await tab.mouse.move(box.x + x, box.y + y);
      if ((await tab.locator('.frontier .tip').count()) > 0) tip = await tab.locator('.frontier .tip').textContent();
    }
  }
  assert.match(tip, /energy/);
  await tab.getByRole('button', {name: 'All clocks'}).click();
  await tab.locator('.frontier').screenshot({path: join(out, 'frontier.png')});
  assert.deepEqual(faults, []);
  await context.close();
});

await test('clocks of one time are drawn each', async () => {
  const {tab, context, faults} = await open(page, {colorScheme: 'light'});
  await ready(tab);
  await tab.waitForTimeout(200);
  const found = await tab.evaluate(() => {
    const {frontier} = JSON.parse(document.getElementById('ergon-page').textContent);
    const canvas = document.querySelector('.frontier canvas');
    const probe = document.createElement('span');
    probe.style.color = 'var(--uniform)';
    document.body.append(probe);
    const wanted = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const {width, height} = canvas;
    const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
    const inked = (x, y) => wanted.every((value, channel) => Math.abs(pixels[4 * (y * width + x) + channel] - value) < 40);
    // Dots are wider than the line between them: runs of rows in which three pixels beside each other are inked.
    let most = 0;
    for (let x = 0; x + 3 < width; ++x) {
      let runs = 0;
      for (let y = 1; y < height; ++y) {
        const dot = (row) => [0, 1, 2].every((step) => inked(x + step, row));
        if (dot(y) && !dot(y - 1)) ++runs;
      }
      most = Math.max(most, runs);
    }
    const times = frontier.uniform.map((p) => p.time_s);
    return {most, equal: Math.max(...times.map((time) => times.filter((other) => other === time).length))};
  });
  assert.equal(found.equal, 8);
  assert.ok(found.most >= 8, `${found.most} dots one above the other`);
  await tab.locator('.frontier').screenshot({path: join(out, 'frontier-equal.png')});
  assert.deepEqual(faults, []);
  await context.close();
});

await test('everything that is text is there without a script', async () => {
  const {tab, context} = await open(page, {javaScriptEnabled: false});
  for (const part of ['less energy at a slowdown of', 'Operating points', 'Provenance', 'Dependencies', 'recorded']) {
    assert.ok((await tab.getByText(part).count()) > 0, part);
  }
  assert.equal(await tab.locator('#timeline').isVisible(), false);
  await tab.screenshot({path: join(out, 'no-script.png'), fullPage: true});
  await context.close();
});

await test('it fits a small screen and paper', async () => {
  const {tab, context, faults} = await open(page, {viewport: {width: 390, height: 800}});
  await ready(tab);
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} px too wide`);
  await tab.screenshot({path: join(out, 'narrow.png'), fullPage: true});
  await tab.setViewportSize({width: 1000, height: 1300});
  await tab.pdf({path: join(out, 'print.pdf'), format: 'A4'});
  assert.deepEqual(faults, []);
  await context.close();
});

await test('a large trace opens at once and stays below 5 MB', async () => {
  assert.ok(statSync(largePage).size < 5e6, `${statSync(largePage).size} bytes`);
  const {tab, context, faults} = await open(largePage);
  await ready(tab);
  const milliseconds = await tab.evaluate(
    () =>
      new Promise((done) => {
        const canvas = document.querySelector('canvas[role=application]');
        const start = performance.now();
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}));
        requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
      }),
  );
  console.log(`      ${(statSync(largePage).size / 1e6).toFixed(2)} MB, a zoom step in ${milliseconds.toFixed(0)} ms`);
  assert.ok(milliseconds < 1000);
  await tab.screenshot({path: join(out, 'large.png'), fullPage: true});
  assert.deepEqual(faults, []);
  await context.close();
});

await test('a narrow page says that its tables scroll', async () => {
  const {tab, context, faults} = await open(page, {viewport: {width: 420, height: 800}});
  await ready(tab);
  await tab.waitForTimeout(200);
  assert.ok((await tab.locator('.scrolls:visible').count()) > 0);
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'the page itself does not');
  assert.deepEqual(faults, []);
  await context.close();
});

for (const scheme of ['light', 'dark']) {
  await test(`the figures of a study are drawn, ${scheme}`, async () => {
    const {tab, context, faults} = await open(studyPage, {colorScheme: scheme});
    await ready(tab);
    await tab.waitForTimeout(200);
    assert.equal(await tab.locator('.study-plots canvas').count(), 3);
    const inked = await tab.evaluate(() =>
      [...document.querySelectorAll('.study-plots canvas')].map((canvas) => {
        const {width, height} = canvas;
        const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
        let count = 0;
        for (let i = 3; i < pixels.length; i += 4) count += pixels[i] > 0 ? 1 : 0;
        return count;
      }),
    );
    assert.ok(inked.every((count) => count > 500), `${inked} pixels`);
    assert.equal(await tab.locator('.study-bars ol > li').count(), 4);
    assert.equal(await tab.locator('.study-fill').count(), 3, 'no bar without an optimum');
    assert.deepEqual(await tab.locator('.study-bars em').allTextContents(), ['lowest clock'], 'the edge is said');
    assert.match(await tab.locator('.study .legend').innerText(), /baseline[^]*best[^]*Pareto front[^]*other settings[^]*not valid/);
    assert.match(await tab.locator('.study-figure').first().innerText(), /slowdown 20(\.0)? %/);
    assert.equal(await tab.locator('.study-heat td').count(), 8);
    assert.equal(await tab.locator('.study-heat td.unknown').count(), 1, 'what is not valid has no colour');
    await tab.screenshot({path: join(out, `study-${scheme}.png`), fullPage: true});
    assert.deepEqual(faults, []);
    await context.close();
  });
}

await test('a bar and the list choose the workload', async () => {
  const {tab, context, faults} = await open(studyPage);
  await ready(tab);
  const heat = tab.locator('.study-heat p').first();
  await tab.getByRole('button', {name: /net 1/}).click();
  assert.match(await heat.textContent(), /net 1/);
  await tab.getByRole('combobox').selectOption({index: 2});
  assert.match(await heat.textContent(), /<\/script>/, 'a hostile name is text');
  assert.equal(await tab.locator('img').count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

await test('a study fits a small screen, and evidence is whole', async () => {
  const {tab, context, faults} = await open(studyPage, {viewport: {width: 390, height: 800}});
  await ready(tab);
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} px too wide`);
  assert.equal(await tab.locator('td .cut').count(), 0);
  await tab.screenshot({path: join(out, 'study-narrow.png'), fullPage: true});
  assert.deepEqual(faults, []);
  await context.close();
});

for (const [scheme, width] of [['light', 1360], ['dark', 1360], ['light', 390]]) {
  await test(`the points of a sweep are drawn, ${scheme}, ${width} wide`, async () => {
    const {tab, context, faults} = await open(sweepPage, {colorScheme: scheme, viewport: {width, height: 900}});
    await ready(tab);
    await tab.waitForTimeout(200);
    assert.ok((await tab.getByText('(simulated)').count()) > 0, 'the page says that the GPU is simulated');
    assert.equal(await tab.locator('.sweep-plots canvas').count(), 2);
    const inked = await tab.evaluate(() =>
      [...document.querySelectorAll('.sweep-plots canvas')].map((canvas) => {
        const {width: w, height: h} = canvas;
        const pixels = canvas.getContext('2d').getImageData(0, 0, w, h).data;
        let count = 0;
        for (let i = 3; i < pixels.length; i += 4) count += pixels[i] > 0 ? 1 : 0;
        return count;
      }),
    );
    assert.ok(inked.every((count) => count > 500), `${inked} pixels`);
    for (const label of ['counts', 'baseline', 'least energy', 'does not count', '95 % interval']) {
      assert.ok((await tab.locator('.sweep .legend li', {hasText: label}).count()) > 0, label);
    }
    const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} px too wide`);
    await tab.screenshot({path: join(out, `sweep-${scheme}-${width}.png`), fullPage: true});
    assert.deepEqual(faults, []);
    await context.close();
  });
}

// A figure that is drawn anew has no box for a moment.
async function boxOf(element) {
  for (let tries = 0; tries < 100; tries++) {
    const box = await element.boundingBox();
    if (box !== null) return box;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the element does not show');
}

await test('a point of a sweep says its setting, interval and why it does not count', async () => {
  const {tab, context, faults} = await open(sweepPage);
  await ready(tab);
  await tab.getByRole('combobox').selectOption({index: 1});
  const plot = tab.locator('.sweep-plots .u-over').first();
  const box = await boxOf(plot);
  const tips = new Set();
  for (let x = 4; x < box.width; x += 12) {
    for (let y = 4; y < box.height; y += 16) {
      await tab.mouse.move(box.x + x, box.y + y);
      if ((await tab.locator('.sweep .tip').count()) > 0) tips.add(await tab.locator('.sweep .tip').textContent());
    }
  }
  const all = [...tips].join('\n');
  assert.match(all, /MHz.* J \u00b1 .* J/);
  assert.match(all, /least energy/);
  assert.match(all, /does not count: <\/script>/, 'hostile words are text');
  assert.equal(await tab.locator('img').count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
