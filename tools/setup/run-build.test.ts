import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { hashSources } from './run-build.js'

describe('the hash of sources', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-web-'))
    await mkdir(join(folder, 'app/node_modules'), { recursive: true })
    await writeFile(join(folder, 'app/main.tsx'), 'one')
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('changes with the content of a source and with its name', async () => {
    const before = hashSources(folder, ['app'])
    await writeFile(join(folder, 'app/main.tsx'), 'two')
    const edited = hashSources(folder, ['app'])
    await writeFile(join(folder, 'app/other.tsx'), '')

    expect(new Set([before, edited, hashSources(folder, ['app'])])).to.have.property('size', 3)
  })

  it('stays when only tests or installed packages change', async () => {
    const before = hashSources(folder, ['app'])
    await writeFile(join(folder, 'app/main.test.tsx'), 'test')
    await writeFile(join(folder, 'app/node_modules/package.js'), 'package')

    expect(hashSources(folder, ['app'])).to.equal(before)
  })
})
