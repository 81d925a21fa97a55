import { defineConfig } from 'vite'

/** Port of the REST interface that `vite dashboard` shows while the dashboard is being changed. */
const REST = 'http://127.0.0.1:8081'
const PATHS = ['/config', '/overview', '/jobs', '/jobmanager', '/taskmanagers', '/weir']

/** Build of the dashboard; `vite dashboard` serves it with the data of a running job. */
export default defineConfig({
  root: import.meta.dirname,
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // The content security policy allows no data: URLs of scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
  },
  server: { proxy: Object.fromEntries(PATHS.map((path) => [path, REST])) },
})
