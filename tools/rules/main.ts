import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { readOperations, readTests } from './read-sources.ts'
import { contractNames, readContract, readSpecification, specificationNames } from './rules.ts'
import { findGaps, writeRules } from './write-rules.ts'

const root = resolve(import.meta.dirname, '../..')
const page = join(root, 'docs/rules.md')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const rules = {
  specification: readSpecification(read('docs/specification.md')),
  contract: readContract(read('docs/contract.md')),
}
const names = { specification: specificationNames(rules.specification), contract: contractNames(rules.contract) }
const sources = globSync('{gateway,services,libs,deploy,test,tools}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist)$|^tools\/rules$/.test(path),
}).sort()
const isTest = (file: string) => file.endsWith('.test.ts') || file.endsWith('.test.tsx')
const operations = sources.filter((file) => !isTest(file)).flatMap((file) => readOperations(file, read(file), names))
const tests = sources.filter(isTest).flatMap((file) => readTests(file, read(file), names))
const written = writeRules(rules, operations, tests)
const text = await format(written, { ...(await resolveConfig(page)), parser: 'markdown' })

const faults = findGaps(rules, operations, tests)
if (!process.argv.includes('--check')) writeFileSync(page, text)
else if (!existsSync(page) || readFileSync(page, 'utf8') !== text)
  faults.push('docs/rules.md is out of date: run `npm run rules`')
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
