/** `Login 5`, or `Contract 7, fan-out`. */
export type Rule = { name: string; about: string }

/** A heading of the third level is a rule, or the name of the numbered ones in its section. */
export function readSpecification(page: string): Rule[] {
  return sectionsOf(page, /^### (.+)$/gm).flatMap(({ heading, body }) => {
    const numbered = [...body.matchAll(/^([0-9]+)\. \*\*(.+?)\*\*/gms)]
    if (numbered.length === 0) return [{ name: heading, about: '' }]
    return numbered.map(([, number, about = '']) => ({ name: `${heading} ${number}`, about: subject(about) }))
  })
}

export function readContract(page: string): Rule[] {
  return sectionsOf(page, /^## ([1-9])\. .+$/gm).flatMap(({ heading, body }) =>
    [...body.matchAll(/^- \*\*(.+?)\*\*/gms)].map(([, name = '']) => ({
      name: `Contract ${heading}, ${subject(name)}`,
      about: '',
    })),
  )
}

/** `POST /api/uploads bearer`. */
export function readEndpoints(page: string): string[] {
  return [...page.matchAll(/^\| `([A-Z]+ \/api\/\S+)`\s*\| (\w+)/gm)].map(([, route, access]) => `${route} ${access}`)
}

function sectionsOf(page: string, heading: RegExp) {
  return [...page.matchAll(heading)].map(({ 0: line, 1: name = '', index }) => {
    const after = page.slice(index + line.length)
    return { heading: name, body: after.slice(0, /^##/m.exec(after)?.index) }
  })
}

const subject = (text: string) => text.replace(/\s+/g, ' ').replace(/[.,]$/, '')

export type FindRules = (text: string) => string[]

/** `Login 1-3, Admin reset 2 and 4` names five rules. */
export function specificationNames(rules: readonly Rule[]): FindRules {
  const sections = [...new Set(rules.map(({ name }) => name.replace(/ [0-9]+$/, '')))]
  sections.sort((a, b) => b.length - a.length)
  const escaped = sections.map((section) => section.replace(/[/()-]/g, '\\$&')).join('|')
  const mention = new RegExp(`(?<![\\w-])(${escaped})(?![\\w-])(?: ([0-9][0-9, \\-–]*(?:and [0-9]+)?))?`, 'g')
  return (text) =>
    [...text.matchAll(mention)].flatMap(([, section = '', numbers]) =>
      numbers === undefined ? [section] : expand(numbers).map((number) => `${section} ${number}`),
    )
}

/** `7, fan-out` names an item, `7` the section. */
export function contractNames(rules: readonly Rule[]): FindRules {
  return (text) => {
    const [, section, words = ''] = /^([1-9])\b(.*)$/s.exec(text) ?? []
    if (section === undefined) return []
    const start = `Contract ${section}, `
    const items = rules.flatMap(({ name }) => (name.startsWith(start) ? [name.slice(start.length)] : []))
    const named = items.filter((item) => words.toLowerCase().includes(`, ${item.toLowerCase()}`))
    return named.length > 0 ? named.map((item) => start + item) : [`Contract ${section}`]
  }
}

function expand(numbers: string): number[] {
  return numbers.split(/,|and/).flatMap((part) => {
    const [first, last] = part.split(/[-–]/).map((text) => Number.parseInt(text, 10))
    if (first === undefined || Number.isNaN(first)) return []
    return Array.from({ length: (last || first) - first + 1 }, (_, at) => first + at)
  })
}
