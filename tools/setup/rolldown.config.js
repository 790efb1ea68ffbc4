// How the programs are built that `npm start`, `npm run cluster` and `npm run gatehouse` run. See docs/decisions/built-programs.md.
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtPrograms } from './build-programs.js'
import { root } from './project.js'

/**
 * A source finds the files beside it, the programs of its child processes for one, where it lies itself.
 * @type {import('rolldown').Plugin}
 */
const keepLocations = {
  name: 'keep-locations',
  transform: {
    filter: { code: 'import.meta.', id: { exclude: /node_modules/ } },
    handler: (code, id) =>
      code
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id))),
  },
}

/** @type {import('rolldown').RolldownOptions} */
export default {
  input: Object.fromEntries(builtPrograms.map((file) => [file.replace(/\.ts$/, ''), join(root, file)])),
  cwd: root,
  platform: 'node',
  // An addon finds its binary beside itself.
  external: ['bcrypt'],
  plugins: [keepLocations],
  // What takes the place of a location is on the same line.
  checks: { eval: false, sourcemapBroken: false },
  output: {
    format: 'esm',
    // The names of classes are those of errors and entities.
    keepNames: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  },
}
