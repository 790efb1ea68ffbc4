import { expect } from 'chai'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { ensureWebBuilt } from '../../tools/setup/build-web.js'
import { dataFolder } from '../../tools/setup/project.js'

/** Bytes of a cold visit in English, compressed by Brotli as the gateway sends them; what is of the API is not in it. */
const limits = { login: 40_000, home: 60_000, settings: 75_000, admin: 75_000 }

describe('The weight of the web app', () => {
  const folder = join(dataFolder(), 'web')
  const built = (path: string) => readFile(join(folder, path), 'utf8')
  let assets: string[]

  before(async () => {
    await ensureWebBuilt()
    assets = await readdir(join(folder, 'assets'))
  })

  /** The files of a page with the chunk of that name, which comes after the first visit's. */
  async function loadedFiles(chunk?: string): Promise<Set<string>> {
    const loaded = new Set(['index.html', 'favicon.svg'])
    const load = async (path: string) => {
      if (loaded.has(path)) return
      loaded.add(path)
      const [, name = ''] = /^assets\/(.+)-.{6}\.js$/.exec(path) ?? []
      for (const file of assets.filter((asset) => asset.startsWith(`${name}-`) && asset.endsWith('.css'))) {
        if (name) await load(`assets/${file}`)
      }
      if (path.endsWith('.js')) {
        for (const imported of staticImports(await built(path))) await load(join('assets', imported))
      }
    }
    for (const [, path = ''] of (await built('index.html')).matchAll(/(?:src|href)="\/([^"]+)"/g)) await load(path)
    const file = chunk && assets.find((asset) => asset.startsWith(`${chunk}-`) && asset.endsWith('.js'))
    if (chunk && !file) throw new Error(`no chunk called ${chunk}`)
    if (file) await load(`assets/${file}`)
    return loaded
  }

  async function weigh(files: Iterable<string>): Promise<number> {
    const texts = await Promise.all([...files].map(built))
    return texts.reduce((sum, text) => sum + brotliCompressSync(text).length, 0)
  }

  for (const [page, limit] of Object.entries(limits)) {
    it(`stays under ${limit / 1000} kB for the page ${page}`, async () => {
      const files = await loadedFiles(page === 'login' ? undefined : `${page}-page`)

      expect([...files].filter((path) => /\.(js|css)$/.test(path))).to.have.length.at.least(page === 'login' ? 3 : 5)
      expect(await weigh(files)).to.be.within(15_000, limit - 1)
    })
  }

  it('leaves what is behind the login, and schemas, to later', async () => {
    const html = await built('index.html')

    expect(html).not.to.match(/\/(home|admin-page|register-page|german)-/)
    for (const [, path = ''] of html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)) {
      expect(await built(path)).not.to.include('ZodError')
    }
  })
})

function staticImports(text: string): string[] {
  return [...text.matchAll(/(?:^|[;}])import(?:[^"'`();]*?from)?["'`]\.\/([^"'`]+)["'`]/g)].map(([, name = '']) => name)
}
