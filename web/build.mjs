// Bundles the page into OUT/page.js and OUT/page.css, which the binary embeds: node build.mjs MODULES OUT
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const modules = resolve(process.argv[2] ?? join(here, 'node_modules'));
const out = resolve(process.argv[3] ?? join(here, 'dist'));
const {build} = createRequire(join(modules, 'from-here.js'))('esbuild');

await build({
  entryPoints: {page: join(here, 'src/main.tsx')},
  nodePaths: [modules],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'ascii',
  legalComments: 'none',
  banner: {js: '/* Preact (c) Jason Miller, Signals (c) Preact, uPlot (c) Leon Sorokin; MIT licence */'},
  outdir: out,
  logLevel: 'warning',
});

// Both texts stand inside the page: neither may close its element.
for (const [file, closing] of [['page.js', '</script'], ['page.css', '</style']]) {
  if (readFileSync(join(out, file), 'utf8').toLowerCase().includes(closing)) throw new Error(`${file}: ${closing}`);
}
