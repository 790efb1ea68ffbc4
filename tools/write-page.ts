import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { root } from './setup/project.js'

export function reportFault(fault: string): void {
  console.error(fault)
  process.exitCode = 1
}

/** Writes what the script generates. With --check it writes nothing, and reports a file that is out of date. */
export async function writePage(script: string, file: string, text: string): Promise<void> {
  const path = join(root, file)
  const isMarkdown = file.endsWith('.md')
  const page = isMarkdown ? await format(text, { ...(await resolveConfig(path)), parser: 'markdown' }) : text
  if (existsSync(path) && readFileSync(path, 'utf8') === page) return
  if (process.argv.includes('--check')) reportFault(`${file} is out of date: run \`npm run ${script}\``)
  else writeFileSync(path, page)
}
