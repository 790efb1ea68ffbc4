import { expect } from 'chai'
import { execFileSync } from 'node:child_process'

/** Prints the address of each module that is loaded for the two subpaths. */
const program = `
  import { registerHooks } from 'node:module'
  registerHooks({ load: (url, context, next) => (console.log(url), next(url, context)) })
  await import('@gatehouse/contracts/constants')
  await import('@gatehouse/contracts/endpoints')
`

describe('The constants and the endpoint table', () => {
  it('load no other package, so that a client can bundle them', () => {
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program]
    const output = execFileSync(process.execPath, flags, { cwd: import.meta.dirname, encoding: 'utf8' })
    const loaded = output.trim().split('\n')

    expect(loaded.filter((url) => url.endsWith('/libs/contracts/src/endpoints/table.ts'))).to.have.length(1)
    expect(loaded.filter((url) => !url.includes('/libs/contracts/src/'))).to.deep.equal([])
  })
})
