// The layers of the packages, and no circle of imports, those of types included. `npm run check` holds the code to it.

/** The libraries from the lowest layer to the highest; those of one layer do not import each other. */
export const layers = [
  ['contracts'],
  ['runtime'],
  ['outbound', 'local-servers', 'client', 'upstream', 'child-process'],
  ['domain', 'bus'],
  ['database'],
  ['outbox', 'invites', 'deliveries'],
  ['auth'],
  ['authority', 'openid-keys'],
  ['service-kit'],
  ['uploads', 'mail', 'providers', 'upstreams'],
  ['test-kit'],
]

/** The programs of deploy/, likewise. */
export const programs = [['calls'], ['embedded'], ['cli', 'cluster', 'example']]

/** What else is a package in deploy/. */
export const packagesOfDeploy = ['cli', 'importer']

/**
 * The folders within a folder, likewise. Its own files are below them all, but for `service.ts` and `main.ts`, which are above, and
 * `deps.ts`, which may have a type of any of them.
 */
export const folderLayers = {
  'gateway/src': [['limits', 'replicas'], ['http'], ['auth'], ['local', 'upstreams', 'websocket'], ['proxy']],
  'services/federation-fanout/src': [
    ['peers'],
    ['handshake', 'relay', 'replies', 'requests'],
    ['operations'],
    ['maintenance', 'routes'],
  ],
  'services/identity/src': [
    ['hashing', 'uploads'],
    ['providers', 'queries'],
    ['mail'],
    ['operations'],
    ['replies'],
    ['routes', 'rpc'],
  ],
  'services/identity/src/operations': [
    ['accounts'],
    ['approval', 'credentials'],
    ['email', 'export', 'passkeys', 'registration', 'second-factor'],
    ['deletion', 'profile', 'providers'],
    ['administration', 'federation'],
  ],
  'services/openid/src': [
    ['grants', 'keys'],
    ['clients'],
    ['notices', 'provider'],
    ['applications', 'operations'],
    ['routes'],
  ],
  'services/session-gateway/src': [
    ['connection', 'nodes'],
    ['sessions'],
    ['presence'],
    ['admin-watch', 'upstreams'],
    ['handshake', 'routes'],
  ],
}

const anyPackage = `^(gateway|(?:services|libs)/[^/]+|deploy/(?:${packagesOfDeploy.join('|')}))/`
const tests = '\\.test\\.tsx?$|/test/'
const pathOf = (/** @type {string[]} */ names) => `^libs/(${names.join('|')})/`

/** A folder imports lower layers, and the files beside the folders; those import no folder. */
function rulesOfFolders(/** @type {string} */ path, /** @type {string[][]} */ folders) {
  const above = '(service|main)\\.ts$'
  const layerRules = folders.map((names, index) => ({
    name: `${path}: layer-${index}`,
    comment: 'A folder imports lower layers.',
    severity: 'error',
    from: { path: `^${path}/(${names.join('|')})/`, pathNot: tests },
    to: { path: `^${path}/((${folders.slice(index).flat().join('|')})/|${above})`, pathNot: `^${path}/$1/` },
  }))
  const beside = {
    name: `${path}: beside`,
    comment: 'What all folders share imports none of them.',
    severity: 'error',
    from: { path: `^${path}/[^/]+$`, pathNot: `${tests}|/(deps|service|main)\\.ts$` },
    to: { path: `^${path}/[^/]+/` },
  }
  const types = {
    name: `${path}: types`,
    comment: 'deps.ts says what is handed in: it imports types.',
    severity: 'error',
    from: { path: `^${path}/deps\\.ts$` },
    to: { path: `^${path}/[^/]+/`, dependencyTypesNot: ['type-only'] },
  }
  return [...layerRules, beside, types]
}

export default {
  forbidden: [
    {
      name: 'no-circle',
      comment: 'State and types belong to the folder that changes them.',
      severity: 'error',
      from: { pathNot: tests },
      to: { circular: true },
    },
    {
      name: 'package-by-name',
      comment: 'Another package is imported by its name.',
      severity: 'error',
      from: { path: anyPackage },
      to: { path: anyPackage, pathNot: '^$1/', dependencyTypes: ['local'] },
    },
    {
      name: 'no-service',
      comment: 'Services talk over the bus and HTTP.',
      severity: 'error',
      from: { path: anyPackage },
      to: { path: '^(gateway|services/[^/]+)/', pathNot: '^$1/' },
    },
    ...layers.map((_, index) => ({
      name: `layer-${index}`,
      comment: 'A library imports lower layers.',
      severity: 'error',
      from: { path: pathOf(layers[index]), pathNot: tests },
      to: { path: pathOf(layers.slice(index).flat()), pathNot: '^libs/$1/' },
    })),
    ...programs.map((_, index) => ({
      name: `program-${index}`,
      comment: 'A program imports lower layers.',
      severity: 'error',
      from: { path: `^deploy/(${programs[index]?.join('|')})/`, pathNot: tests },
      to: { path: `^deploy/(${programs.slice(index).flat().join('|')})/`, pathNot: '^deploy/$1/' },
    })),
    ...Object.entries(folderLayers).flatMap(([path, folders]) => rulesOfFolders(path, folders)),
  ],
  options: {
    exclude: { path: 'node_modules|/dist/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
    moduleSystems: ['es6'],
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
}
