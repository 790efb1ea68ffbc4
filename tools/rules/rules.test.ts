import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { contractNames, readContract, readOperations, readSpecification } from './rules.ts'
import { readTests, specificationNames } from './rules.ts'
import { describeRule, findGaps, listRules, selectRules } from './print-rules.ts'

const read = (page: string) => readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')

describe('the rules and where they are implemented', () => {
  const rules = {
    specification: readSpecification(read('specification.md')),
    contract: readContract(read('contract.md')),
  }
  const names = { specification: specificationNames(rules.specification), contract: contractNames(rules.contract) }
  const source = `
    /**
     * Creates an account. Throws nothing. Spec: Registration 1, 3,
     * 10; Contract: 3, register; protocol.md 4.
     */
    export async function register() {}
    /** Spec: Login 1. */
    export async function* follow() {}
    /** No rule. */
    export function other() {}
    const policy = {
      /** In bytes. Spec: Admin reset 2. */
      temporaryPasswordBytes: 12,
    }`

  it('understands lists, ranges and several rules in one tag', () => {
    const namesIn = names.specification
    expect(namesIn('Login 1-3, DELETE self 4')).to.deep.equal(['Login 1', 'Login 2', 'Login 3', 'DELETE self 4'])
    expect(namesIn('Registration 6 and 10')).to.deep.equal(['Registration 6', 'Registration 10'])
    expect(namesIn('Login 5, in milliseconds')).to.deep.equal(['Login 5'])
    expect(namesIn('Invite link, token')).to.deep.equal(['Invite link'])
    expect(namesIn('the registration page')).to.deep.equal([])
  })

  it('understands sections of the contract and their items', () => {
    expect(names.contract('7, fan-out')).to.deep.equal(['Contract 7, Fan-out'])
    expect(names.contract('7, handshake, asked')).to.deep.equal(['Contract 7, Handshake, asked'])
    expect(names.contract('8, settings, TRUST_PROXY')).to.deep.equal(['Contract 8, Settings'])
    expect(names.contract('8, as a whole')).to.deep.equal(['Contract 8'])
    expect(names.contract('protocol.md 4')).to.deep.equal([])
  })

  it('finds operations by the tags of their docstrings', () => {
    expect(readOperations('a.ts', source, names)).to.deep.equal([
      {
        rules: ['Registration 1', 'Registration 3', 'Registration 10', 'Contract 3, register'],
        text: 'register',
        file: 'a.ts',
      },
      { rules: ['Login 1'], text: 'follow', file: 'a.ts' },
      { rules: ['Admin reset 2'], text: 'temporaryPasswordBytes', file: 'a.ts' },
    ])
  })

  it('finds tests by titles that begin with a rule, however they are quoted, and by their docstrings', () => {
    const titles = readTests(
      'a.test.ts',
      `describe('Login 2, 3: a', () => { it("it's Login 4", f); it(\`Tombstone: \${x}\`, f) })
       /** Contract: 6, ready. */
       it('has it all', f)`,
      names,
    )

    expect(titles.map(({ rules: ruleNames, text }) => [ruleNames, text])).to.deep.equal([
      [['Login 2', 'Login 3'], 'Login 2, 3: a'],
      [['Tombstone'], 'Tombstone: ${x}'],
      [['Contract 6, ready'], 'has it all'],
    ])
  })

  it('lists both under their rule, and reports rules without them and mentions of none', () => {
    const operations = readOperations('a.ts', `${source}\n/** Spec: Login 7. */\nconst x = 1`, names)
    const tests = readTests('a.test.ts', `it('Registration 1: short names', f)`, names)
    const gaps = findGaps(rules, operations, tests).join('\n')

    const [registration] = selectRules(rules, 'Registration 1')
    expect(describeRule(registration!, operations, tests)).to.match(
      /^Registration 1: .+\n {2}code {2}register {2}\(a\.ts\)\n {2}test {2}Registration 1: short names {2}\(a\.test\.ts\)$/,
    )
    expect(gaps).to.include('Registration 3:').and.include('Registration 2:').and.not.include('Registration 1:')
    expect(gaps).to.include('Contract 6, ready: no test').and.include('a.ts names "Login 7", which is no rule')
  })

  it('reports tags that name a section without an item, or an item that the section does not have', () => {
    const gapsOf = (tag: string) => {
      const operations = readOperations('a.ts', `/** Contract: ${tag}. */\nexport const x = 1`, names)
      return findGaps(rules, operations, []).filter((gap) => gap.startsWith('a.ts'))
    }

    expect(gapsOf('7')).to.deep.equal(['a.ts names "Contract 7 without an item", which is no rule'])
    expect(gapsOf('7, no such item')).to.deep.equal(['a.ts names "Contract 7, no such item", which is no rule'])
    expect(gapsOf('7, Fan-out; Spec: Login 1, no heading')).to.deep.equal([])
    expect(gapsOf('7, Fan-out; Spec: no heading')).to.deep.equal(['a.ts names "no heading", which is no rule'])
    expect([...gapsOf('7, as a whole'), ...gapsOf('7, Fan-out; protocol.md 4')]).to.deep.equal([])
  })

  it('selects rules as tags name them, whole sections too, and none by another name', () => {
    const select = (words: string) => selectRules(rules, words).map(({ name }) => name)

    expect(select('Registration 6 and 10')).to.deep.equal(['Registration 6', 'Registration 10'])
    expect(select('Login').length).to.be.greaterThan(4)
    expect(select('Login').every((name) => /^Login [0-9]+$/.test(name))).to.equal(true)
    expect(select('Contract 7, fan-out')).to.deep.equal(['Contract 7, Fan-out'])
    expect(select('Contract: 7')).to.include.members(['Contract 7', 'Contract 7, Fan-out'])
    expect([...select('Registration 99'), ...select('the login page')]).to.deep.equal([])
    expect(listRules(rules).map(({ name }) => name)).to.include.members(['Tombstone', 'Contract 6, ready'])
  })
})
