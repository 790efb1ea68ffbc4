import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from '../setup/project.js'
import {
  lastFile,
  listBrowserPrograms,
  listTestFiles,
  orderFiles,
  readDurations,
  writeDurations,
} from './test-files.ts'

describe('the plan of a run', () => {
  it('begins with what took longest, or else with the whole system', () => {
    const files = ['libs/a/a.test.ts', 'libs/b/b.test.ts', 'services/c/c.test.ts', 'test/d.test.ts']
    const durations = { 'libs/b/b.test.ts': 9, 'services/c/c.test.ts': 5, 'test/d.test.ts': 7 }

    expect(orderFiles(files, {})[0]).to.equal('test/d.test.ts')
    expect(orderFiles(files, durations)).to.deep.equal([
      'libs/b/b.test.ts',
      'test/d.test.ts',
      'services/c/c.test.ts',
      'libs/a/a.test.ts',
    ])
  })

  it('ends with the judgement of what the others have collected, which exists', () => {
    expect(listTestFiles(root)).to.include(lastFile)
  })

  it('has the browsers that a file starts, and no other', () => {
    expect(listBrowserPrograms(root, [lastFile])).to.deep.equal([])
    expect(listBrowserPrograms(root, ['test/browser/accounts.test.ts'])).to.deep.equal(['chromium-headless-shell'])
    expect(listBrowserPrograms(root, ['test/browser/dialogs.system.test.ts'])).to.deep.equal([
      'chromium-headless-shell',
    ])
    const others = ['firefox-esr', 'webkit2gtk-driver', 'xvfb']
    expect(listBrowserPrograms(root, ['test/browser/engines.test.ts'])).to.deep.equal(others)
  })

  it('knows the durations of earlier runs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-durations-'))
    const path = join(folder, 'durations.json')
    expect(readDurations(path)).to.deep.equal({})

    writeDurations(path, [{ file: 'a', seconds: 1 }])
    writeDurations(path, [{ file: 'b', seconds: 2 }])

    expect(readDurations(path)).to.deep.equal({ a: 1, b: 2 })
    await rm(folder, { recursive: true })
  })
})
