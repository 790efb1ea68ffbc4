// npm run lines: the lines of TypeScript and JavaScript that are no tests, by folder, and the files of each flow in docs/explain/life-of-a-request.md.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/project.js'

const isTest = /\.test\.tsx?$|(^|\/)test\/|^libs\/test-kit\/|^bench\//
const listed = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.js'], { cwd: root, encoding: 'utf8' })
const files = listed.split('\n').filter((file) => file && !isTest.test(file))
const folderOf = (file) => /^(?:(?:services|libs|deploy|tools)\/[^/]+(?=\/)|[^/]+(?=\/))/.exec(file)?.[0] ?? '.'
const folders = [...new Set(files.map(folderOf))].sort((one, other) => one.localeCompare(other))

for (const folder of [...folders, 'all']) {
  const found = folder === 'all' ? files : files.filter((file) => folderOf(file) === folder)
  const text = found.map((file) => readFileSync(join(root, file), 'utf8')).join('')
  const counts = [found.length, text.split('\n').length - 1, text.match(/^\s*(?:\/\/|\/\*|\*)/gm)?.length ?? 0]
  const [inFiles, inLines, inComments] = counts.map((count) => String(count).padStart(6))
  console.log(`${folder.padEnd(28)}${inFiles} files${inLines} lines${inComments} of comments`)
}

const filesIn = (flow) => [...flow.matchAll(/\]\(([^)]+\.ts)\)/g)].map(([, file]) => file)
const [, gateway, ...flows] = readFileSync(join(root, 'docs/explain/life-of-a-request.md'), 'utf8').split(/^## /m)
for (const flow of flows) {
  const first = flow.includes('(#through-the-gateway)') ? filesIn(gateway) : []
  console.log(`${flow.split('\n', 1)[0].padEnd(46)}${new Set([...first, ...filesIn(flow)]).size} files`)
}
