import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { root } from '../setup/project.js'

const program = join(root, 'node_modules/markdownlint-cli2/markdownlint-cli2-bin.mjs')
const config = join(root, '.markdownlint-cli2.mjs')

describe('the check of the words', () => {
  let folder: string
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'gatehouse-writing-'))))
  afterEach(() => rm(folder, { recursive: true }))

  /** Returns `<page>:<line> <rule>` of each error on the page. */
  async function check(page: string, lines: readonly string[]): Promise<string[]> {
    await writeFile(join(folder, page), lines.join('\n'))
    const { stderr } = await promisify(execFile)(process.execPath, [program, '--config', config, '--no-globs', page], {
      cwd: folder,
    }).catch((error: unknown) => error as { stderr: string })
    return [...stderr.matchAll(/^(\S+?:\d+)\S* error ([\w-]+)/gm)].map(([, place, rule]) => `${place} ${rule}`)
  }

  it('reports long sentences, replaced words, and links that lead nowhere', async () => {
    await writeFile(join(folder, 'other.md'), '# Other\n')
    const long = `This sentence ${'really '.repeat(30)}is long.`

    expect(
      await check('page.md', [
        '# Signed-in devices',
        '',
        `A short one. ${long}`,
        '',
        '| word | meaning |',
        '| --- | --- |',
        '| link | A recovery link. |',
        '',
        '[one](missing.md) and [two](other.md#missing) and [three](#missing)',
      ]),
    ).to.have.members([
      'page.md:1 plain-words',
      'page.md:3 sentence-length',
      'page.md:7 plain-words',
      'page.md:9 relative-links',
      'page.md:9 relative-links',
      'page.md:9 MD051',
    ])
  })

  it('accepts code, file names, link targets and short sentences', async () => {
    await writeFile(join(folder, 'sign-in.md'), '# Sign in\n')
    const sentence = `This ${'word '.repeat(28)}ends.`

    expect(
      await check('page.md', [
        '# Log in',
        '',
        `${sentence} ${sentence} Call \`sign-ins\`, and read [the page](sign-in.md#sign-in) or [sign-ins.ts](sign-in.md).`,
        '',
        '    sign in anew',
      ]),
    ).to.deep.equal([])
  })
})
