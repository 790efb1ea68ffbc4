import { existsSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { accountChecks } from './account-checks.ts'
import { adminChecks } from './admin-checks.ts'
import { findRow, listRows, rowsOf } from './page-rows.ts'
import { evidence } from './row-evidence.ts'
import { offer } from './run.ts'
import { signedChecks, unsignedChecks } from './stranger-checks.ts'

const checks = [...unsignedChecks, offer, ...signedChecks, ...accountChecks, ...adminChecks]

/** What shows each row, of those given. */
function shownBy(rows: readonly string[]): Map<string, string[]> {
  const shown = new Map<string, string[]>(rows.map((row) => [row, []]))
  const add = (beginning: string, by: string) => shown.get(findRow(beginning, rows))?.push(by)
  for (const check of checks) for (const row of check.rows) add(row, `check: ${check.name}`)
  for (const [file, title, shownRows] of evidence) for (const row of shownRows) add(row, `${file}: ${title}`)
  return shown
}

describe('the rows of docs/federation/protocol.md', () => {
  it('each have a test or a check', () => {
    const bare = [...shownBy(listRows())].flatMap(([row, by]) => (by.length === 0 ? [row] : []))

    expect(bare).to.deep.equal([])
  })

  it('are missed where one is added without a test', () => {
    const [added = ''] = rowsOf('## 2.2\n| state | on |\n| --- | --- |\n| a new state | 200 |\n')
    const shown = shownBy([...listRows(), added])

    expect(added).to.equal('2.2 a new state')
    expect([...shown].flatMap(([row, by]) => (by.length === 0 ? [row] : []))).to.deep.equal([added])
  })

  it('are shown by tests that exist', () => {
    const lost = evidence.flatMap(([file, title]) => {
      const url = new URL(`../../${file}`, import.meta.url)
      const text = existsSync(url) ? readFileSync(url, 'utf8') : ''
      const titles = [...text.matchAll(/\bit\(\s*(['"`])(.*?)\1,/g)].map(([, , words = '']) => words)
      return titles.some((words) => words.includes(title)) ? [] : [`${file}: ${title}`]
    })

    expect(lost).to.deep.equal([])
  })
})
