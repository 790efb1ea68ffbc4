import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { folderLayers, layers, packagesOfDeploy, programs } from '../../.dependency-cruiser.js'
import { root } from '../setup/project.js'

type Violation = { from: string; rule: { name: string } }

describe('the structure of the packages', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-structure-'))
    await mkdir(join(folder, 'node_modules/@gatehouse'), { recursive: true })
    for (const name of ['libs/runtime', 'libs/bus', 'libs/domain', 'libs/test-kit', 'services/invite', 'gateway']) {
      const short = name.split('/').at(-1)!
      await create(`${name}/src/index.ts`, 'export const value = 1')
      await create(`${name}/package.json`, JSON.stringify({ name: `@gatehouse/${short}`, exports: './src/index.ts' }))
      await symlink(join(folder, name), join(folder, 'node_modules/@gatehouse', short))
    }
    for (const name of ['calls', 'embedded', 'cli', 'cluster']) await create(`deploy/${name}/main.ts`, 'export {}')
    await create('tsconfig.json', '{}')
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function create(path: string, source: string): Promise<void> {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), source)
  }

  /** The names of the rules that each file violates. */
  async function check(): Promise<Record<string, string[]>> {
    const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs')
    const config = join(root, '.dependency-cruiser.js')
    const args = [program, 'gateway', 'services', 'libs', 'deploy', '--config', config, '--output-type', 'json']
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder }).catch((error: unknown) => {
      return error as { stdout: string }
    })
    const { violations } = (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary
    const names: Record<string, string[]> = {}
    for (const { from, rule } of violations) (names[from] ??= []).push(rule.name)
    return names
  }

  it('lets a package import lower layers and itself, and its tests every library', async () => {
    await create('libs/bus/src/relay.ts', `import '@gatehouse/runtime'; import './index.ts'`)
    await create('libs/bus/test/contract.test.ts', `import '@gatehouse/test-kit'`)
    await create('services/invite/src/service.ts', `import '@gatehouse/bus'`)

    expect(await check()).to.deep.equal({})
  })

  it('keeps it from services, from its own and higher layers, and from paths into another package', async () => {
    await create('libs/domain/src/upwards.ts', `import '@gatehouse/bus'`)
    await create('libs/bus/src/kit.ts', `import '@gatehouse/test-kit'`)
    await create('libs/bus/src/path.ts', `import '../../runtime/src/index.ts'`)
    await create('libs/bus/src/service.ts', `import '@gatehouse/invite'`)
    await create('deploy/cli/path.ts', `import '../../libs/bus/src/index.ts'`)
    await create('deploy/cli/service.ts', `import '../../services/invite/src/index.ts'`)
    await create('services/invite/test/harness.ts', `import '@gatehouse/gateway'`)

    expect(await check()).to.deep.equal({
      'libs/domain/src/upwards.ts': ['layer-3'],
      'libs/bus/src/kit.ts': ['layer-3'],
      'libs/bus/src/path.ts': ['package-by-name'],
      'libs/bus/src/service.ts': ['no-service'],
      'deploy/cli/path.ts': ['package-by-name'],
      'deploy/cli/service.ts': ['no-service', 'package-by-name'],
      'services/invite/test/harness.ts': ['no-service'],
    })
  })

  it('has no circle, not even of types', async () => {
    await create('libs/bus/src/one.ts', `import type { Two } from './two.ts'; export type One = Two | 1`)
    await create('libs/bus/src/two.ts', `import type { One } from './one.ts'; export type Two = One | 2`)

    expect(await check()).to.deep.equal({ 'libs/bus/src/one.ts': ['no-circle'] })
  })

  it('lets the command line and the cluster import an embedded instance, and not the other way round', async () => {
    await create('deploy/cli/allowed.ts', `import '../embedded/main.ts'; import '../calls/main.ts'`)
    await create('deploy/embedded/upwards.ts', `import '../cli/main.ts'`)
    await create('deploy/calls/upwards.ts', `import '../embedded/main.ts'`)
    await create('deploy/cluster/sidewards.ts', `import '../cli/main.ts'`)

    expect(await check()).to.deep.equal({
      'deploy/embedded/upwards.ts': ['program-1'],
      'deploy/calls/upwards.ts': ['program-0'],
      'deploy/cluster/sidewards.ts': ['program-2'],
    })
  })

  it('lets a folder of a service import lower ones and what they share, which imports none but for types', async () => {
    const source = 'services/session-gateway/src'
    for (const folder of ['connection', 'nodes', 'presence']) await create(`${source}/${folder}/one.ts`, 'export {}')
    await create(`${source}/presence/two.ts`, `import './one.ts'; import '../nodes/one.ts'; import '../policy.ts'`)
    await create(`${source}/service.ts`, `import './presence/two.ts'`)
    await create(`${source}/sessions/upwards.ts`, `import '../presence/one.ts'`)
    await create(`${source}/nodes/sidewards.ts`, `import '../connection/one.ts'`)
    await create(`${source}/connection/wiring.ts`, `import '../service.ts'`)
    await create(`${source}/policy.ts`, `import './nodes/one.ts'`)
    await create('gateway/src/auth/callers.ts', 'export type Callers = 1')
    await create('gateway/src/deps.ts', `import type { Callers } from './auth/callers.ts'; export type Deps = Callers`)
    await create('services/openid/src/deps.ts', `import './keys/keys.ts'`)
    await create('services/openid/src/keys/keys.ts', 'export {}')

    expect(await check()).to.deep.equal({
      [`${source}/sessions/upwards.ts`]: [`${source}: layer-1`],
      [`${source}/nodes/sidewards.ts`]: [`${source}: layer-0`],
      [`${source}/connection/wiring.ts`]: [`${source}: layer-0`],
      [`${source}/policy.ts`]: [`${source}: beside`],
      'services/openid/src/deps.ts': ['services/openid/src: types'],
    })
  })

  it('has a layer for every library and every program, and for every folder of what has layers of its own', () => {
    const foldersOf = (path: string): string[] => {
      const entries = readdirSync(join(root, path), { withFileTypes: true })
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    }
    const ofPrograms = foldersOf('deploy').filter((name) => existsSync(join(root, 'deploy', name, 'main.ts')))

    expect(layers.flat()).to.have.members(readdirSync(join(root, 'libs')))
    expect(programs.flat()).to.include.members(ofPrograms)
    const isPackage = (name: string) => existsSync(join(root, 'deploy', name, 'package.json'))
    expect(packagesOfDeploy).to.have.members(foldersOf('deploy').filter(isPackage))
    for (const [path, folders] of Object.entries(folderLayers)) {
      expect(folders.flat(), path).to.have.members(foldersOf(path))
    }
  })
})
