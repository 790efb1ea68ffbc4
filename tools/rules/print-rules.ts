// npm run rules -- "Registration 10": prints the code and the tests of a rule, or of each rule of a section ("Login", "Contract 7").
// Without a rule it lists all of them. With --check it prints the rules without code or test, and fails if there are any.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/project.js'
import { reportFault } from '../write-page.ts'
import {
  contractNames,
  readContract,
  readOperations,
  readSpecification,
  readTests,
  specificationNames,
} from './rules.ts'
import type { Mention, Rule } from './rules.ts'

type Rules = { specification: readonly Rule[]; contract: readonly Rule[] }

/** The rules of both pages, and each section of the contract as a whole, which a tag can name alone. */
export function listRules({ specification, contract }: Rules): Rule[] {
  const sections = [...new Set(contract.map(({ name }) => name.split(',', 1).join()))]
  const ofContract = sections.flatMap((section) => [
    { name: section, about: 'the section as a whole' },
    ...contract.filter(({ name }) => name.startsWith(`${section},`)),
  ])
  return [...specification, ...ofContract]
}

/** Finds rules by the words of a tag: `Login 1-3`, `Login`, `Contract 7, fan-out`, `Contract: 7`. Unknown ones are left out. */
export function selectRules(pages: Rules, words: string): Rule[] {
  const [, ofContract] = /^contract:? +(.*)$/i.exec(words) ?? []
  const names =
    ofContract === undefined
      ? specificationNames(pages.specification)(words)
      : contractNames(pages.contract)(ofContract)
  const isNamed = ({ name }: Rule) =>
    names.some((one) => name === one || name.startsWith(`${one} `) || name.startsWith(`${one},`))
  return listRules(pages).filter(isNamed)
}

/** A line for the rule, one for each operation that implements it, and one for each test. */
export function describeRule({ name, about }: Rule, operations: readonly Mention[], tests: readonly Mention[]): string {
  const mentionsOf = (kind: string, mentions: readonly Mention[]) =>
    mentions.filter(({ rules }) => rules.includes(name)).map(({ text, file }) => `  ${kind}  ${text}  (${file})`)
  const lines = [...mentionsOf('code', operations), ...mentionsOf('test', tests)]
  return [titleOf({ name, about }), ...new Set(lines)].join('\n')
}

const titleOf = ({ name, about }: Rule): string => (about === '' ? name : `${name}: ${about}`)

export function findGaps(pages: Rules, operations: readonly Mention[], tests: readonly Mention[]): string[] {
  const unnamed = (rules: readonly Rule[], mentions: readonly Mention[]) => {
    const ruleNames = new Set(mentions.flatMap((mention) => mention.rules))
    return rules.map(({ name }) => name).filter((name) => !ruleNames.has(name))
  }
  const { specification, contract } = pages
  const all = [...specification, ...contract].map(({ name }) => name)
  const ruleNames = new Set([...all, ...all.map((name) => name.replace(/ [0-9]+$|,.*$/, ''))])
  return [
    ...unnamed(specification, operations).map((name) => `${name}: no docstring says "Spec: ${name}"`),
    ...unnamed(specification, tests).map((name) => `${name}: no test title begins with "${name}"`),
    ...unnamed(contract, tests).map((name) => `${name}: no test has a docstring "${name.replace(' ', ': ')}"`),
    ...[...operations, ...tests].flatMap(({ rules, file }) =>
      rules.filter((name) => !ruleNames.has(name)).map((name) => `${file} names "${name}", which is no rule`),
    ),
  ]
}

if (import.meta.main) {
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const rules = {
    specification: readSpecification(read('docs/specification.md')),
    contract: readContract(read('docs/contract.md')),
  }
  const names = { specification: specificationNames(rules.specification), contract: contractNames(rules.contract) }
  const exclude = (path: string) => /(^|\/)(node_modules|dist)$|^tools\/rules$/.test(path)
  const sources = globSync('{gateway,services,libs,deploy,test,tools}/**/*.{ts,tsx}', { cwd: root, exclude }).sort()
  const isTest = (file: string) => /\.test\.tsx?$/.test(file)
  const operations = sources.filter((file) => !isTest(file)).flatMap((file) => readOperations(file, read(file), names))
  const tests = sources.filter(isTest).flatMap((file) => readTests(file, read(file), names))
  const words = process.argv.slice(2).join(' ')
  if (words === '--check') {
    for (const gap of findGaps(rules, operations, tests)) reportFault(gap)
  } else if (words === '') {
    console.log(listRules(rules).map(titleOf).join('\n'))
  } else {
    const selected = selectRules(rules, words)
    if (selected.length === 0) reportFault(`"${words}" is no rule: npm run rules lists all of them`)
    else console.log(selected.map((rule) => describeRule(rule, operations, tests)).join('\n\n'))
  }
}
