import { rulesNamedIn } from './rules.ts'

/** A mention of rules in a source file: by the docstring of an operation or by the title of a test. */
export type Mention = { rules: string[]; contract: number[]; text: string; file: string }

const docstring = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*([^\n]*)/g
const declared = /(?:function|const|class|type|let)\s+(\w+)/
const title = /\b(?:describe|it)\(\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)/g

/** The declarations of a source file whose docstring ends with `Spec: …` or `Contract: …`. */
export function readOperations(file: string, source: string): Mention[] {
  return [...source.matchAll(docstring)].flatMap(([, comment = '', next = '']) => {
    const words = comment.replace(/\n\s*\*/g, ' ').replace(/\s+/g, ' ')
    const rules = tagsOf(words, 'Spec').flatMap(rulesNamedIn)
    const contract = tagsOf(words, 'Contract').flatMap((tag) => /^[1-8]/.exec(tag)?.map(Number) ?? [])
    if (rules.length === 0 && contract.length === 0) return []
    const name = declared.exec(next)?.[1] ?? /^(\w+)/.exec(next)?.[1]
    return [{ rules, contract, text: name ?? file, file }]
  })
}

function tagsOf(words: string, tag: 'Spec' | 'Contract'): string[] {
  return [...words.matchAll(new RegExp(`\\b${tag}: ([^;.]*)`, 'g'))].map(([, text = '']) => text)
}

/** The titles of a test file that begin with a rule. */
export function readTests(file: string, source: string): Mention[] {
  return [...source.matchAll(title)].flatMap(([, single, double, template = '']) => {
    const text = (single ?? double ?? template).replace(/\\(.)/g, '$1')
    const rules = rulesNamedIn(text.split(':', 1).join())
    const first = rules[0]?.replace(/ [0-9]+$/, '')
    return first !== undefined && text.startsWith(first) ? [{ rules, contract: [], text, file }] : []
  })
}
