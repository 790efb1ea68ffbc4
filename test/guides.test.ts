import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { shownText } from './browser/shown.ts'

const read = (file: string): string => readFileSync(join(import.meta.dirname, '..', file), 'utf8')
const { texts } = JSON.parse(read('services/web/src/language/german.json')) as { texts: Record<string, string> }

/** Every English text of the web app, without a count at its end. */
const known = new Set(Object.keys(texts).map((key) => shownText(key).replace(/ \(\{count\}\)$/, '')))

/** Returns the labels that a page has in bold and the web app doesn't have. `A > B` is two labels. */
function findUnknownLabels(page: string): string[] {
  const labels = [...page.matchAll(/\*\*([^*]+)\*\*/g)].flatMap(([, bold = '']) => bold.replace('\n', ' ').split(' > '))
  return labels.filter((label) => label !== 'Warning' && !known.has(label))
}

describe('the guides for users and admins', () => {
  for (const page of ['docs/use/your-account.md', 'docs/use/admin-guide.md', 'docs/tutorials/first-instance.md'])
    it(`${page} names only labels of the web app`, () => {
      expect(findUnknownLabels(read(page))).to.deep.equal([])
    })

  it('are compared with the labels word for word', () => {
    expect(findUnknownLabels('Open **Settings > Security**, then **Settings > Nowhere**.')).to.deep.equal(['Nowhere'])
  })
})
