import type { Mention } from './read-sources.ts'
import { rules } from './rules.ts'

const contractSections = [
  'conventions',
  'user JSON',
  'accounts',
  'invites',
  'administration',
  'WebSocket',
  'federation',
  'operations',
]

/** The page that leads from each rule to its operations and tests, in Markdown. */
export function writeRules(operations: readonly Mention[], tests: readonly Mention[]): string {
  const ofSpecification = rules.map(({ name, about }) => {
    const lines = [...namesOf(operations, name), ...namesOf(tests, name, 'test ')]
    return `### ${name}: ${about}\n\n${lines.join('\n')}`
  })
  const ofContract = contractSections.map((about, at) => {
    const found = operations.filter(({ contract }) => contract.includes(at + 1))
    return `### Contract ${at + 1}: ${about}\n\n${[...new Set(found.map((mention) => line(mention)))].join('\n')}`
  })
  const head = `# Rules

From each rule to what carries it out and to the tests that hold it there. Made from the \`Spec:\` and \`Contract:\` tags of
docstrings and from test titles that begin with a rule; \`npm run rules\` makes it again.`
  return `${[head, '## Specification', ...ofSpecification, '## Contract', ...ofContract].join('\n\n')}\n`
}

/** The rules that nothing carries out, or that no test holds. */
export function findGaps(operations: readonly Mention[], tests: readonly Mention[]): string[] {
  const isNamedIn = (mentions: readonly Mention[], name: string) =>
    mentions.some((mention) => mention.rules.includes(name))
  return rules.flatMap(({ name, about }) => [
    ...(isNamedIn(operations, name) ? [] : [`${name} (${about}): no docstring says "Spec: ${name}"`]),
    ...(isNamedIn(tests, name) ? [] : [`${name} (${about}): no test title begins with "${name}"`]),
  ])
}

function namesOf(mentions: readonly Mention[], rule: string, prefix = ''): string[] {
  const lines = mentions.filter((mention) => mention.rules.includes(rule)).map((mention) => line(mention, prefix))
  return [...new Set(lines)]
}

/** A link from the name or the title to its file, as seen from docs/. */
function line({ text, file }: Mention, prefix = ''): string {
  const words = prefix === '' ? `\`${text}\`` : text.replace(/[\\`*_[\]<>]/g, '\\$&')
  return `- ${prefix}[${words}](../${file})`
}
