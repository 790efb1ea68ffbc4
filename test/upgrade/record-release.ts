// node test/upgrade/record-release.ts VERSION [COMMIT]: writes released.json, what the next release is held against. With COMMIT it
// records the tree of that commit and not this one, and names it in releases.json. Run it with each release.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseOptions } from '@gatehouse/database'
import { listSubjects } from './compatibility.ts'
import { fullCommit, openReleaseTree, releasesFile, withRelease } from './releases.ts'

const [version, commit] = process.argv.slice(2)
const path = 'test/upgrade/released.json'
const log = (line: string): void => void process.stdout.write(`${line}\n`)

if (!version) {
  process.stderr.write('usage: node test/upgrade/record-release.ts VERSION [COMMIT]\n')
  process.exit(1)
}
if (commit === undefined) recordThisTree(version)
else await recordCommit(version, fullCommit(commit))

function recordThisTree(version: string): void {
  const migrations = databaseOptions({ url: 'postgres://localhost/none' }).migrations?.migrationsList ?? []
  const names = migrations.map(({ name }) => name)
  // One line for each subject, so that a difference reads well.
  const subjects = Object.entries(listSubjects()).map(
    ([name, schema]) => `    ${JSON.stringify(name)}: ${JSON.stringify(schema)}`,
  )
  const content = [
    '{',
    `  "version": ${JSON.stringify(version)},`,
    `  "migrations": ${JSON.stringify(names)},`,
    '  "subjects": {',
    subjects.join(',\n'),
    '  }',
    '}',
  ]
  writeFileSync(join(import.meta.dirname, 'released.json'), `${content.join('\n')}\n`)
}

/** The tree of the commit records itself. */
async function recordCommit(version: string, commit: string): Promise<void> {
  await using tree = await openReleaseTree(commit, log)
  execFileSync(process.execPath, ['test/upgrade/record-release.ts', version], { cwd: tree.root, stdio: 'inherit' })
  copyFileSync(join(tree.root, path), join(import.meta.dirname, 'released.json'))
  const releases = withRelease(JSON.parse(readFileSync(releasesFile, 'utf8')), { version, commit })
  writeFileSync(releasesFile, `${JSON.stringify(releases, null, 2)}\n`)
  log(`${version} is ${commit}: test/upgrade/released.json and test/upgrade/releases.json say so`)
}
