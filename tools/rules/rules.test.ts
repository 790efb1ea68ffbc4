import { expect } from 'chai'
import { readOperations, readTests } from './read-sources.ts'
import { rulesNamedIn } from './rules.ts'
import { findGaps, writeRules } from './write-rules.ts'

describe('the page of rules', () => {
  const source = `
    /**
     * Creates an account. Throws nothing. Spec: Registration 1, 3,
     * 10; Contract: 3, register.
     */
    export async function register() {}
    /** No rule. */
    export function other() {}
    const policy = {
      /** In bytes. Spec: Admin reset 2. */
      temporaryPasswordBytes: 12,
    }`

  it('understands lists, ranges and several rules in one tag', () => {
    expect(rulesNamedIn('Login 1-3, DELETE self 4')).to.deep.equal(['Login 1', 'Login 2', 'Login 3', 'DELETE self 4'])
    expect(rulesNamedIn('Registration 6 and 10')).to.deep.equal(['Registration 6', 'Registration 10'])
    expect(rulesNamedIn('Login 5, in milliseconds')).to.deep.equal(['Login 5'])
    expect(rulesNamedIn('Invite link, token')).to.deep.equal(['Invite link'])
    expect(rulesNamedIn('the registration page')).to.deep.equal([])
  })

  it('finds operations by the tags of their docstrings', () => {
    expect(readOperations('a.ts', source)).to.deep.equal([
      {
        rules: ['Registration 1', 'Registration 3', 'Registration 10'],
        contract: [3],
        text: 'register',
        file: 'a.ts',
      },
      { rules: ['Admin reset 2'], contract: [], text: 'temporaryPasswordBytes', file: 'a.ts' },
    ])
  })

  it('finds tests by titles that begin with a rule, however they are quoted', () => {
    const titles = readTests(
      'a.test.ts',
      `describe('Login 2, 3: a', () => { it("it's Login 4", f); it(\`Tombstone: \${x}\`, f) })`,
    )

    expect(titles.map(({ rules, text }) => [rules, text])).to.deep.equal([
      [['Login 2', 'Login 3'], 'Login 2, 3: a'],
      [['Tombstone'], 'Tombstone: ${x}'],
    ])
  })

  it('lists both under their rule, and reports rules without them', () => {
    const operations = readOperations('a.ts', source)
    const tests = readTests('a.test.ts', `it('Registration 1: short names', f)`)
    const gaps = findGaps(operations, tests).join('\n')

    expect(writeRules(operations, tests)).to.include(
      '- [`register`](../a.ts)\n- test [Registration 1: short names](../a.test.ts)',
    )
    expect(gaps).to.include('Registration 3 (').and.include('Registration 2 (').and.not.include('Registration 1 ')
  })
})
