import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { lockHash, reasonToInstall } from './install.js'

type Packages = Record<string, { version?: string; optional?: boolean; link?: boolean }>

describe('the packages', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-install-'))
    await mkdir(join(folder, 'node_modules/node/bin'), { recursive: true })
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function lock(packages: Packages): Promise<void> {
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages }))
  }

  async function install(packages: Packages): Promise<void> {
    await writeFile(join(folder, 'node_modules/node/bin/node'), '')
    await writeFile(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
  }

  it('must be installed where there are none', async () => {
    await lock({ 'node_modules/a': { version: '1.0.0' } })

    expect(reasonToInstall(folder)).to.equal('nothing is installed yet')
  })

  it('need nothing when they are what the lock file lists, packages for other machines aside', async () => {
    await lock({ '': {}, 'libs/b': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/c': { optional: true } })
    await install({ 'node_modules/a': { version: '1.0.0' } })

    expect(reasonToInstall(folder)).to.equal(null)
  })

  it('must be installed when one has another version than the locked one', async () => {
    await lock({ 'node_modules/a': { version: '1.0.1' } })
    await install({ 'node_modules/a': { version: '1.0.0' } })

    expect(reasonToInstall(folder)).to.equal('package-lock.json has changed')
  })

  it('must be installed again when the lock file changes after they were found complete', async () => {
    await lock({ 'node_modules/a': { version: '1.0.0' } })
    await install({ 'node_modules/a': { version: '1.0.0' } })
    reasonToInstall(folder)
    const before = lockHash(folder)

    await lock({ 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0' } })

    expect(lockHash(folder)).to.not.equal(before)
    expect(reasonToInstall(folder)).to.equal('package-lock.json has changed')
  })
})
