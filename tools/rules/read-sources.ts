import type { FindRules } from './rules.ts'

export type Mention = { rules: string[]; text: string; file: string }
type Pages = { specification: FindRules; contract: FindRules }

const docstring = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*([^\n]*)/g
const declared = /(?:function|const|class|type|let)\s+(\w+)/
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
  const named = [...source.matchAll(title)].flatMap((test) => {
    const text = titleOf(test)
    const rules = pages.specification(text.split(':', 1).join())
    const first = rules[0]?.replace(/ [0-9]+$/, '')
    return first !== undefined && text.startsWith(first) ? [{ rules, text, file }] : []
  })
  return [...named, ...tagged]
}

const titleOf = ([, single, double, template = '']: string[]) => (single ?? double ?? template).replace(/\\(.)/g, '$1')

function readDocstrings(source: string, pages: Pages) {
  return [...source.matchAll(docstring)].flatMap(({ 0: whole, 1: comment = '', 2: next = '', index }) => {
    const words = comment.replace(/\n\s*\*/g, ' ').replace(/\s+/g, ' ')
    const rules = [
      ...tagsOf(words, 'Spec').flatMap(pages.specification),
      ...tagsOf(words, 'Contract').flatMap(pages.contract),
    ]
    return rules.length > 0 ? [{ rules, next, following: source.slice(index + whole.length - next.length) }] : []
  })
}

function tagsOf(words: string, tag: 'Spec' | 'Contract'): string[] {
  const tags = words.matchAll(new RegExp(`\\b${tag}: ([^.]*)`, 'g'))
  // `3, sockets; 7, fan-out; federation-wire.md 4` has two sections of the contract.
  return [...tags].flatMap(([, text = '']) => text.split(';')).map((part) => part.trim())
}
