// `npm run settings`: writes deploy/env.example and docs/reference/settings.md from the settings; with --check, says what is out of date.
import { listSettings } from '@gatehouse/service-kit/start'
import { writePage } from '../write-page.ts'

type Row = ReturnType<typeof listSettings>[number]
type ComposeRow = { names: readonly string[]; value: string; meaning: string }

const width = 118

const replicas = ['GATEWAY', 'IDENTITY', 'INVITE', 'SESSION_GATEWAY', 'FEDERATION_FANOUT', 'OPENID'].map(
  (name) => `${name}_REPLICAS`,
)

const composeOnly: readonly ComposeRow[] = [
  {
    names: ['PUBLISH'],
    value: '127.0.0.1:8080',
    meaning:
      'Address of the gateway on this machine, for a proxy there. For two gateways: `127.0.0.1:8080-8081`. `0.0.0.0:8080` is plain HTTP on all IPv4 addresses',
  },
  {
    names: ['EDGE_SUBNET'],
    value: '10.203.141.0/28',
    meaning:
      'Subnet between the gateway and the published port. A proxy on this machine has the first address, `10.203.141.1`',
  },
  {
    names: ['BACKUPS'],
    value: './backups',
    meaning:
      'Folder for the archives of `docker compose run --rm backup`. User 10001 needs write access. With SELinux, everything in it is relabeled',
  },
  { names: replicas, value: '1', meaning: 'Number of containers' },
  {
    names: ['NATS_CONF'],
    value: './deploy/nats/nats.conf',
    meaning: 'NATS configuration. With upstreams: `./deploy/secrets/nats.conf`, from make-secrets.sh',
  },
]
const composeSection = 'Docker Compose only'

const intro = `# Every variable that Gatehouse reads, written by \`npm run settings\`. \`npm start\` needs none of them. Docker Compose reads the
# file .env in the project's root. An empty variable counts as unset. Every variable of a process can come from a file:
# NAME_FILE names it.
`

const pageIntro = `# Settings

<!-- written by npm run settings -->

For operators: every variable that Gatehouse reads. A distributed setup needs those marked *required*; \`npm start\` creates them or does without.

- Docker Compose reads \`.env\` in the project's root. [env.example](../../deploy/env.example) is a template with examples.
- An empty variable counts as unset.
- Every variable can come from a file: \`JWT_SECRET_FILE\` names the file that contains \`JWT_SECRET\`.
- Secrets have at least 32 characters. \`deploy/make-secrets.sh\` creates them.
- If variables are missing or invalid, Gatehouse lists all of them and exits with code 1.
`

const sections = Map.groupBy(listSettings(), ({ section }) => section)

function renderEnvExample(): string {
  const texts = [...sections].map(([section, rows]) => `# --- ${section}\n${rows.map(renderVariable).join('')}`)
  const compose = composeOnly.map(({ names, value, meaning }) => {
    return wrap(`${meaning}.`) + names.map((name) => `${name}=${value}\n`).join('')
  })
  return [intro, ...texts, `# --- ${composeSection}\n${compose.join('')}`].join('\n')
}

function renderVariable(row: Row): string {
  const { name, note } = row
  return `${wrap(`${meaningOf(row)}${whenUnset(row)}.${note ? ` ${note}` : ''}`)}${name}=${valueOf(row)}\n`
}

/** With the least and the greatest number, where there are any. */
function meaningOf({ kind, meaning }: Row): string {
  const { minimum = 0, maximum } = (kind.meta() ?? {}) as { minimum?: number; maximum?: number }
  return maximum === undefined ? meaning : `${meaning}. ${minimum} to ${maximum}`
}

function whenUnset(row: Row): string {
  if (row.preset === undefined || valueOf(row) !== '') return ''
  const preset = row.preset.replaceAll('`', '')
  if (preset === 'required') return ' (required in a distributed setup)'
  return preset.startsWith('required') ? ` (${preset})` : ` (default: ${preset})`
}

/** Empty where it depends on the form or the machine. */
const valueOf = ({ kind, embedded, preset }: Row): string => ((embedded ?? preset) === undefined ? textOf(kind) : '')

/** Into lines of up to the width; a longer word has one of its own. */
function wrap(text: string): string {
  const lines = text.match(new RegExp(`\\S.{0,${width - 1}}(?= |$)|\\S+`, 'g')) ?? []
  return lines.map((line) => `# ${line}\n`).join('')
}

function renderPage(): string {
  const texts = [...sections].map(([section, rows]) => {
    return renderTable(
      section,
      rows.map((row) => ({ names: [row.name], meaning: meaningOf(row), value: presetOf(row) })),
    )
  })
  const compose = composeOnly.map((row) => ({ ...row, value: `\`${row.value}\`` }))
  return [pageIntro, ...texts, renderTable(composeSection, compose)].join('\n')
}

function renderTable(section: string, rows: readonly ComposeRow[]): string {
  const lines = rows.map(({ names, value, meaning }) => {
    return `| ${names.map((name) => `\`${name}\``).join(', ')} | ${value} | ${meaning} |`
  })
  return [`## ${section}`, '', '| variable | default | meaning |', '| --- | --- | --- |', ...lines, ''].join('\n')
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

await writePage('settings', 'docs/reference/settings.md', renderPage())
await writePage('settings', 'deploy/env.example', renderEnvExample())
