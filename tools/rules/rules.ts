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

function sectionsOf(page: string, heading: RegExp) {
  return [...page.matchAll(heading)].map(({ 0: line, 1: name = '', index }) => {
    const after = page.slice(index + line.length)
    return { heading: name, body: after.slice(0, /^##/m.exec(after)?.index) }
  })
}

const subject = (text: string) => text.replace(/\s+/g, ' ').replace(/[.,]$/, '')

type FindRules = (text: string) => string[]

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

/** `7, fan-out` names an item, `7` and `7, as a whole` the section. Other words are given as they are: no rule has that name. */
export function contractNames(rules: readonly Rule[]): FindRules {
  return (text) => {
    const [, section, words = ''] = /^([1-9])\b(.*)$/s.exec(text) ?? []
    if (section === undefined) return []
    const start = `Contract ${section}, `
    const items = rules.flatMap(({ name }) => (name.startsWith(start) ? [name.slice(start.length)] : []))
    const matches = items.filter((item) => words.toLowerCase().includes(`, ${item.toLowerCase()}`))
    if (matches.length > 0) return matches.map((item) => start + item)
    return [`Contract ${section}${words === ', as a whole' ? '' : words}`]
  }
}

function expand(numbers: string): number[] {
  return numbers.split(/,|and/).flatMap((part) => {
    const [first, last] = part.split(/[-–]/).map((text) => Number.parseInt(text, 10))
    if (first === undefined || Number.isNaN(first)) return []
    return Array.from({ length: (last || first) - first + 1 }, (_, at) => first + at)
  })
}

export type Mention = { rules: string[]; text: string; file: string }
type Pages = { specification: FindRules; contract: FindRules }

const docstring = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*([^\n]*)/g
const declared = /(?:function\*?|const|class|type|let)\s+(\w+)/
const title = /\b(?:describe|it)\(\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)/g

/** Declarations whose docstring ends with `Spec: …` or `Contract: …`. */
export function readOperations(file: string, source: string, pages: Pages): Mention[] {
  return readDocstrings(source, pages).map(({ rules, next }) => {
    const name = declared.exec(next)?.[1] ?? /^(\w+)/.exec(next)?.[1]
    return { rules, text: name ?? file, file }
  })
}

/** Tests whose title begins with a rule, or whose docstring has a tag. */
export function readTests(file: string, source: string, pages: Pages): Mention[] {
  const tagged = readDocstrings(source, pages).flatMap(({ rules, next, following }) => {
    const [test] = following.matchAll(title)
    return test && /^(?:describe|it)\(/.test(next) ? [{ rules, text: titleOf(test), file }] : []
  })
  const titleMentions = [...source.matchAll(title)].flatMap((test) => {
    const text = titleOf(test)
    const rules = pages.specification(text.split(':', 1).join())
    const first = rules[0]?.replace(/ [0-9]+$/, '')
    return first !== undefined && text.startsWith(first) ? [{ rules, text, file }] : []
  })
  return [...titleMentions, ...tagged]
}

/** The titles of suites and tests, as the source writes them. */
export const readTitles = (source: string): string[] => [...source.matchAll(title)].map(titleOf)

const titleOf = ([, single, double, template = '']: string[]) => (single ?? double ?? template).replace(/\\(.)/g, '$1')

function readDocstrings(source: string, pages: Pages) {
  return [...source.matchAll(docstring)].flatMap(({ 0: whole, 1: comment = '', 2: next = '', index }) => {
    const words = comment.replace(/\n\s*\*/g, ' ').replace(/\s+/g, ' ')
    const rules = [
      ...tagsOf(words, 'Spec').flatMap((tag) => namesOrItself(pages.specification(tag), tag)),
      ...tagsOf(words, 'Contract').flatMap((tag) => (/^[1-9]$/.test(tag) ? [withoutItem(tag)] : pages.contract(tag))),
    ]
    return rules.length > 0 ? [{ rules, next, following: source.slice(index + whole.length - next.length) }] : []
  })
}

/** The name of a page is no rule, and any other unknown name is reported. */
const namesOrItself = (names: string[], tag: string): string[] =>
  names.length > 0 || /^$|^docs\/|^protocol$/.test(tag) ? names : [tag]

/** A reader of `Contract: 7` would have to read the whole section. */
const withoutItem = (section: string) => `Contract ${section} without an item`

function tagsOf(words: string, tag: 'Spec' | 'Contract'): string[] {
  const tags = words.matchAll(new RegExp(`\\b${tag}: ((?:(?!\\b(?:Spec|Contract|Design): )[^.])*)`, 'g'))
  // `3, sockets; 7, fan-out; protocol.md 4` has two sections of the contract.
  return [...tags].flatMap(([, text = '']) => text.split(';')).map((part) => part.trim())
}
