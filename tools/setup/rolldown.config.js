// How the programs are built that `npm start`, `npm run cluster` and `npm run gatehouse` run. See docs/decisions/built-programs.md.
import http from 'node:http'
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

/**
 * An import of `node:http` has all its exports read, and for those left out here Node loads its own undici. `require` reads none.
 * @type {import('rolldown').Plugin}
 */
const pickFromHttp = {
  name: 'pick-from-http',
  resolveId: {
    filter: { id: /^(node:)?http$/ },
    handler: (source, importer, { kind }) => (kind === 'require-call' ? null : '\0node-http'),
  },
  load: {
    filter: { id: /^\0node-http$/ },
    handler() {
      const names = Object.keys(http).filter((name) => !['CloseEvent', 'MessageEvent', 'WebSocket'].includes(name))
      return `const http = process.getBuiltinModule('node:http')
        export const { ${names.join(', ')} } = http
        export default http`
    },
  },
}

/**
 * Packages have no source maps: Node would read all of one, and pino has it do so at each start.
 * @type {import('rolldown').Plugin}
 */
const dropPackageMaps = {
  name: 'drop-package-maps',
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk' || !chunk.name.startsWith('packages')) continue
      delete bundle[`${chunk.fileName}.map`]
      chunk.code = chunk.code.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
    }
  },
}

/** @type {import('rolldown').RolldownOptions} */
export default {
  input: Object.fromEntries(builtPrograms.map((file) => [file.replace(/\.ts$/, ''), join(root, file)])),
  cwd: root,
  platform: 'node',
  // An addon finds its binary beside itself.
  external: ['bcrypt'],
  plugins: [keepLocations, pickFromHttp, dropPackageMaps],
  // What takes the place of a location is on the same line.
  checks: { eval: false, sourcemapBroken: false },
  output: {
    format: 'esm',
    // The names of classes are those of errors and entities.
    keepNames: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
    entryFileNames: '[name].js',
    chunkFileNames: ({ name }) => `chunks/${name.split('~')[0]}-[hash].js`,
    codeSplitting: { groups: [{ name: 'packages', test: /node_modules/, entriesAware: true }] },
  },
}
