// `npm run settings`: writes deploy/env.example and the README's table from the settings; with --check, says what is out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { renderEnvExample, renderTable } from './render-settings.ts'

const root = resolve(import.meta.dirname, '../..')
const isCheck = process.argv.includes('--check')

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const table = readme.replace(/(<!-- settings -->\n)[^]*(<!-- \/settings -->)/, (_, start: string, end: string) => {
  return `${start}\n${renderTable()}\n\n${end}`
})
const markdown = await format(table, { ...(await resolveConfig(join(root, 'README.md'))), parser: 'markdown' })
bring('README.md', markdown)
bring('deploy/env.example', renderEnvExample())

function bring(file: string, text: string): void {
  const path = join(root, file)
  if (readFileSync(path, 'utf8') === text) return
  if (!isCheck) return writeFileSync(path, text)
  console.error(`${file} is out of date: run \`npm run settings\``)
  process.exitCode = 1
}
