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

/** The folders of the session gateway, likewise. */
export const sessionGatewayFolders = [
  ['connection', 'nodes'],
  ['sessions'],
  ['presence'],
  ['admin-watch', 'upstreams'],
  ['handshake', 'routes'],
]

const anyPackage = `^(gateway|(?:services|libs)/[^/]+|deploy/(?:${packagesOfDeploy.join('|')}))/`
const tests = '\\.test\\.tsx?$|/test/'
const sessionGateway = '^services/session-gateway/src/'
const pathOf = (/** @type {string[]} */ names) => `^libs/(${names.join('|')})/`

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
    ...sessionGatewayFolders.map((folders, index) => ({
      name: `session-gateway-${index}`,
      comment: 'A folder of the session gateway imports lower layers, and what all of them share.',
      severity: 'error',
      from: { path: `${sessionGateway}(${folders.join('|')})/`, pathNot: tests },
      to: {
        path: `${sessionGateway}((${sessionGatewayFolders.slice(index).flat().join('|')})/|(service|main)\\.ts$)`,
        pathNot: `${sessionGateway}$1/`,
      },
    })),
    {
      name: 'session-gateway-context',
      comment: 'What all folders of the session gateway share imports none of them.',
      severity: 'error',
      from: { path: `${sessionGateway}[^/]+$`, pathNot: `${tests}|/(service|main)\\.ts$` },
      to: { path: `${sessionGateway}[^/]+/` },
    },
  ],
  options: {
    exclude: { path: 'node_modules|/dist/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
    moduleSystems: ['es6'],
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
}
