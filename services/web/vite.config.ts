import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { precompress } from './precompress.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const gateway = process.env['GATEWAY_URL'] ?? 'http://127.0.0.1:8080'

export default defineConfig({
  root: here('.'),
  plugins: [precompress()],
  // Preact is React to everything that imports it, at a fifth of its weight.
  resolve: {
    alias: {
      'react/jsx-runtime': 'preact/jsx-runtime',
      'react-dom/client': 'preact/compat/client',
      'react-dom': 'preact/compat',
      react: 'preact/compat',
    },
  },
  build: {
    outDir: process.env['WEB_OUT'] ?? here('../../.gatehouse/web'),
    emptyOutDir: true,
    // The content security policy of the gateway forbids inline code.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { host: '127.0.0.1', proxy: { '/api': gateway, '/ws': { target: gateway, ws: true } } },
})
