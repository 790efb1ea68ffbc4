import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ensureWebBuilt } from '../../tools/setup/build-web.js'
import { dataFolder } from '../../tools/setup/project.js'

/** What a first visit may load before the login, gzipped. */
const maxBytes = 85_000

describe('The weight of the web app', function () {
  this.timeout(120_000)
  const built = (path: string) => readFile(join(dataFolder(), 'web', path), 'utf8')

  before(() => ensureWebBuilt())

  it('stays under 85 kB compressed for what a first visit loads before the login', async () => {
    const loaded = new Map([['index.html', await built('index.html')]])
    const load = async (path: string) => {
      if (loaded.has(path)) return
      const text = await built(path)
      loaded.set(path, text)
      for (const imported of staticImports(text)) await load(join('assets', imported))
    }
    for (const [, path = ''] of loaded.get('index.html')!.matchAll(/(?:src|href)="\/([^"]+)"/g)) await load(path)

    const bytes = [...loaded.values()].reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0)

    expect([...loaded.keys()].filter((path) => /\.(js|css)$/.test(path))).to.have.length.at.least(3)
    expect(bytes).to.be.within(15_000, maxBytes - 1)
  })

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
