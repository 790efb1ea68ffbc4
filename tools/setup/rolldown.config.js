// How the programs are built. docs/decisions/start-up.md.
import http from 'node:http'
import { dirname, join } from 'node:path'
import { addons, builtPrograms } from './build-programs.js'
import { root } from './project.js'

/** The program of a child process is built too: a source names it with `new URL('./program.ts', import.meta.url)`. */
const buildChildPrograms = {
  name: 'build-child-programs',
  transform: {
    filter: { code: 'import.meta.url', id: { exclude: /node_modules/ } },
    handler(code, id) {
      return code.replace(/'(\.\/[\w-]+)\.ts', import\.meta\.url/g, (_, program) => {
        return `import.meta.ROLLUP_FILE_URL_${this.emitFile({ type: 'chunk', id: join(dirname(id), `${program}.ts`) })}`
      })
    },
  },
}

/** An import of `node:http` has all its exports read, and for those left out here Node loads its own undici. `require` reads none. */
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

/** Packages have no source maps: Node would read all of one, and pino has it do so at each start. */
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

/** @param {readonly string[]} programs from the project's root */
export const inputOf = (programs) =>
  Object.fromEntries(programs.map((file) => [file.replace(/\.ts$/, ''), join(root, file)]))

/** @type {import('rolldown').RolldownOptions} */
export default {
  input: inputOf(builtPrograms),
  cwd: root,
  platform: 'node',
  external: addons,
  plugins: [buildChildPrograms, pickFromHttp, dropPackageMaps],
  // What takes the place of a URL is on the same line.
  checks: { eval: false, sourcemapBroken: false },
  output: {
    format: 'esm',
    // The names of classes are those of errors and entities.
    keepNames: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
    entryFileNames: '[name].mjs',
    chunkFileNames: ({ name }) => `chunks/${name.split('~')[0]}-[hash].mjs`,
    codeSplitting: { groups: [{ name: 'packages', test: /node_modules/, entriesAware: true }] },
  },
}
