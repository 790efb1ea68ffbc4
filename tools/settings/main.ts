// `npm run settings`: writes deploy/env.example and the README's table from the settings; with --check, says what is out of date.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listSettings } from '@gatehouse/service-kit/start'
import { root } from '../setup/project.js'
import { writePage } from '../write-page.ts'

type Row = ReturnType<typeof listSettings>[number]

const width = 118

const composeOnly = `# --- Docker Compose only
# Where the gateway's port is on this machine, by plain http: for a proxy on it. For two gateways 127.0.0.1:8080-8081. Others
# reach it at 0.0.0.0:8080, which docs/operators.md, "Containers on one machine", has more about.
PUBLISH=127.0.0.1:8080
# The subnet between the gateway and the published port. A proxy on this machine has its first address, .1
EDGE_SUBNET=10.203.141.0/28
# The folder of archives for \`docker compose run --rm backup\`; user 10001 writes there. With SELinux all in it is relabeled.
BACKUPS=./backups
# How many containers of each. They are kept here, because \`docker compose up\` goes back to one without it.
GATEWAY_REPLICAS=1
IDENTITY_REPLICAS=1
INVITE_REPLICAS=1
SESSION_GATEWAY_REPLICAS=1
FEDERATION_FANOUT_REPLICAS=1
# What NATS is configured with, ./deploy/secrets/nats.conf once make-secrets.sh has made a user for each upstream.
NATS_CONF=./deploy/nats/nats.conf
`

const intro = `# Every variable that Gatehouse reads, made by \`npm run settings\`. \`npm start\` needs none of them; Docker Compose reads the
# file .env in the project's root. A variable that is empty counts as unset. For a variable of a process, NAME_FILE may name
# the file that holds it.
`

function renderEnvExample(): string {
  const sections = Map.groupBy(listSettings(), ({ section }) => section)
  const texts = [...sections].map(([section, rows]) => `# --- ${section}\n${rows.map(renderVariable).join('')}`)
  return [intro, ...texts, composeOnly].join('\n')
}

function renderVariable(row: Row): string {
  const { name, meaning, note, preset } = row
  const unset = preset === undefined || valueOf(row) !== '' ? '' : ` (unset: ${preset.replaceAll('`', '')})`
  const text = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}${unset}.${note ? ` ${note}` : ''}`
  return `${wrap(text)}${name}=${valueOf(row)}\n`
}

/** Empty where it depends on the form or the machine. */
const valueOf = ({ kind, embedded, preset }: Row): string => ((embedded ?? preset) === undefined ? textOf(kind) : '')

/** Into lines of up to the width; a longer word has one of its own. */
function wrap(text: string): string {
  const lines = text.match(new RegExp(`\\S.{0,${width - 1}}(?= |$)|\\S+`, 'g')) ?? []
  return lines.map((line) => `# ${line}\n`).join('')
}

function renderTable(): string {
  const rows = listSettings().map((row) => `| \`${row.name}\` | ${presetOf(row)} | ${row.meaning} |`)
  return ['| variable | default | meaning |', '| --- | --- | --- |', ...rows].join('\n')
}

function presetOf({ kind, embedded, preset }: Row): string {
  if (preset !== undefined) return preset
  const text = textOf(kind)
  if (embedded) return `\`${textOf(embedded)}\` (distributed: \`${text}\`)`
  return text === '' ? 'none' : `\`${text}\``
}

function textOf(kind: Row['kind']): string {
  const value = kind.parse(undefined) as string | number | boolean | readonly string[] | undefined
  return String(value ?? '')
}

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const table = readme.replace(/(<!-- settings -->\n)[^]*(<!-- \/settings -->)/, (_, start: string, end: string) => {
  return `${start}\n${renderTable()}\n\n${end}`
})
await writePage('settings', 'README.md', table)
await writePage('settings', 'deploy/env.example', renderEnvExample())
