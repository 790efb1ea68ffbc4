// npm run licenses: writes docs/licenses.md. With --check it writes nothing, and fails when the page is out of date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { findUnaccepted, readLock, writeLicenses } from './licenses.ts'

const root = resolve(import.meta.dirname, '../..')
const page = join(root, 'docs/licenses.md')

const packages = readLock(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const text = await format(writeLicenses(packages), { ...(await resolveConfig(page)), parser: 'markdown' })

const faults = findUnaccepted(packages)
if (!process.argv.includes('--check')) writeFileSync(page, text)
else if (!existsSync(page) || readFileSync(page, 'utf8') !== text)
  faults.push('docs/licenses.md is out of date: run `npm run licenses`')
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
