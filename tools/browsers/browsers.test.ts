import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import compatData from '@mdn/browser-compat-data' with { type: 'json' }
import type { Identifier } from '@mdn/browser-compat-data'
import { expect } from 'chai'
import { ESLint, type Linter } from 'eslint'
import tseslint from 'typescript-eslint'
import { dataFolder, root } from '../setup/project.js'
import { ensureWebBuilt } from '../setup/build-web.js'
import { listNewerApis, listNewerStyles } from './newer-apis.ts'
import { refuseNewerApis } from './refuse-newer-apis.ts'
import { supportedBrowsers } from './supported-browsers.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

describe('the oldest browsers', () => {
  it('are the same in the documents, in the page for older ones, and in the build', () => {
    const { chrome, edge, firefox, safari, ios } = supportedBrowsers
    expect([edge, ios]).to.deep.equal([chrome, safari])
    const major = safari.replace('.0', '')

    for (const path of [
      'README.md',
      'docs/operate/choose-a-setup.md',
      'libs/client/README.md',
      'services/web/README.md',
    ])
      expect(read(path), path).to.include(`Chrome or Edge ${chrome}, Firefox ${firefox} or Safari ${major}`)
    const page = read('services/web/public/browser-check.js')
    expect(page).to.include(`Chrome or Edge ${chrome}, Firefox ${firefox}, Safari ${major}, or a later version`)
    expect(page).to.include(`Chrome oder Edge ab ${chrome}, Firefox ab ${firefox} oder Safari ab ${major}`)
  })

  it('are 30 months old', () => {
    const { timestamp } = compatData.__meta
    for (const [name, version] of Object.entries(supportedBrowsers)) {
      const { releases } = compatData.browsers[name === 'ios' ? 'safari_ios' : (name as 'chrome')]
      const { release_date: date = '' } = releases[version.replace('.0', '')] ?? {}
      const months = (Date.parse(timestamp) - Date.parse(date)) / ((365.25 * 86_400_000) / 12)
      expect(months, `${name} ${version} of ${date}`).to.be.at.least(30)
    }
  })

  it('are the first with both features that the page asks for', () => {
    expect(read('services/web/public/browser-check.js')).to.match(/'popover' in .*'grid-template-columns', 'subgrid'/)
    const popover = compatData.html['global_attributes']?.['popover'] as Identifier
    const subgrid = compatData.css['properties']?.['grid-template-columns']?.['subgrid'] as Identifier
    for (const browser of ['chrome', 'edge', 'firefox', 'safari'] as const) {
      const firsts = [popover, subgrid].map(({ __compat: facts }) => [facts?.support[browser] ?? []].flat()[0])
      const first = Math.max(...firsts.map((support) => Number(support?.version_added)))
      expect(first, browser).to.equal(Number(supportedBrowsers[browser]))
    }
  })

  it('lack what came later, and have what came before', () => {
    const newer = listNewerApis()
    const later = ['URL.parse', 'AbortSignal.any', 'Object.groupBy', 'Iterator.map', 'Set.union', 'Intl.DurationFormat']
    const before = [
      'URL',
      'Array.at',
      'Array.toReversed',
      'HTMLElement.popover',
      'Intl.Segmenter',
      'AbortSignal.timeout',
    ]

    expect(later.filter((name) => !newer.has(name))).to.deep.equal([])
    expect(before.filter((name) => newer.has(name))).to.deep.equal([])
  })
})

describe('the lint rule against newer APIs', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-lint-'))
    const compilerOptions = { target: 'es2024', lib: ['es2024', 'dom'], types: [], strict: true }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function lint(code: string): Promise<string[]> {
    const filePath = join(folder, 'page.ts')
    await writeFile(filePath, code)
    const config = {
      files: ['**/*.ts'],
      languageOptions: {
        parser: tseslint.parser,
        parserOptions: { project: true, tsconfigRootDir: folder },
      },
      plugins: { browsers: { rules: { refuse: refuseNewerApis } } },
      rules: { 'browsers/refuse': 'error' },
    } satisfies Linter.Config
    const eslint = new ESLint({ cwd: folder, overrideConfigFile: true, overrideConfig: config })
    const [result] = await eslint.lintFiles(filePath)
    return result?.messages.map(({ line, message }) => `${line} ${message.split(' is ')[0]}`) ?? []
  }

  it('knows a static one, one of an instance and a global, and lets older ones of the same name be', async () => {
    const names = await lint(`
      export const parsed = [URL.parse('a:'), JSON.parse('1')]
      export const grouped = Object.groupBy([1], String)
      export const shown = document.body.checkVisibility()
      export const idle = [requestIdleCallback, setTimeout, window.requestIdleCallback, window.fetch]
      export const mapped = [1].map(String)
      export const typed: PublicKeyCredential | null = null
    `)

    expect(names).to.deep.equal([
      '2 URL.parse',
      '3 Object.groupBy',
      '4 Element.checkVisibility',
      '5 requestIdleCallback',
      '5 requestIdleCallback',
    ])
  })
})

describe('the styles in the oldest browsers', () => {
  /** Without them a page looks plainer, or its menus open in the middle. */
  const additions = [
    'forced-color-adjust',
    'position-area',
    'position-try-fallbacks',
    'resize',
    'scrollbar-gutter',
    'text-size-adjust',
    'text-wrap',
  ]

  it('need no newer property', () => {
    const folder = join(root, 'services/web/src/styles')
    const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
    const used = new Set(sources.flatMap((text) => [...text.matchAll(/^\s+([a-z-]+):/gm)].map(([, name = '']) => name)))

    expect([...used]).to.include.members(['display', ...additions])
    expect(listNewerStyles().filter((name) => used.has(name))).to.have.members(additions)
  })

  it('have no newer color but where a browser says that it knows it', async () => {
    await ensureWebBuilt()
    const folder = join(dataFolder(), 'web/assets')
    const built = readdirSync(folder)
      .filter((name) => name.endsWith('.css'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('')

    expect(built).to.include('--lightningcss-light').and.not.to.include('light-dark(')
    const guarded = /@supports \(color:oklch\(from red l c h\)\)\{:root\[style\*=--accent\]\{[^{}]*\}\}/
    expect(built).to.match(guarded)
    expect(built.replace(guarded, '')).not.to.include('(from var')
  })
})
