// The rules of docs/style.md that a program can check, for markdownlint (.markdownlint-cli2.mjs).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MicromarkToken, Rule } from 'markdownlint'
import { root } from '../setup/project.js'

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Reports each sentence with more words than `max`. Table cells and code blocks aren't checked. */
export const sentenceLength: Rule = {
  names: ['sentence-length'],
  description: 'A sentence has too many words',
  tags: ['words'],
  parser: 'micromark',
  function: ({ parsers, config }, onError) => {
    const { max } = config as { max: number }
    for (const paragraph of proseIn(parsers.micromark.tokens, ['paragraph']))
      for (const { segment } of sentences.segment(proseOf(paragraph.text))) {
        const count = segment.split(/\s+/).filter((word) => /\w/.test(word)).length
        if (count <= max) continue
        const detail = `${count} words, at most ${max}: ${segment.slice(0, 60).trim()} …`
        onError({ lineNumber: paragraph.startLine, detail })
      }
  },
}

/** Reports each word that the table of docs/style.md replaces. Code isn't checked. */
export const plainWords: Rule = {
  names: ['plain-words'],
  description: 'Another word is used for this',
  tags: ['words'],
  parser: 'micromark',
  function: ({ parsers }, onError) => {
    for (const token of proseIn(parsers.micromark.tokens, ['paragraph', 'tableHeader', 'tableData', 'atxHeading']))
      for (const { write, not } of replacedWords) {
        const match = new RegExp(`(?<![\\w-])${not.replaceAll(' ', '[ -]')}s?(?![\\w-])`, 'i').exec(proseOf(token.text))
        if (match) onError({ lineNumber: token.startLine, detail: `"${match[0]}": write "${write}"` })
      }
  },
}

/** The rows behind `<!-- words -->`, one for each word in the second column. */
const replacedWords = readReplacedWords(readFileSync(join(root, 'docs/style.md'), 'utf8'))

function readReplacedWords(page: string): { write: string; not: string }[] {
  const [table = ''] = page.split('<!-- words -->\n')[1]?.split('\n<!-- /words -->') ?? []
  const rows = table.split('\n').filter((line) => /^\| (?!write |-)/.test(line))
  return rows.flatMap((row) => {
    const [, write = '', replaced = ''] = row.split('|').map((cell) => cell.trim())
    return replaced.split(', ').map((not) => ({ write, not }))
  })
}

/** Tokens of the types at any depth. */
function proseIn(tokens: readonly MicromarkToken[], types: readonly string[]): MicromarkToken[] {
  return tokens.flatMap((token) => [...(types.includes(token.type) ? [token] : []), ...proseIn(token.children, types)])
}

/** Markdown without code, file names, link targets, comments and markers. */
function proseOf(text: string): string {
  return text
    .replaceAll(/`[^`]*`/g, 'X')
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/[[\]*]/g, '')
    .replaceAll(/[\w/-]+\.(?:tsx?|js|md|ya?ml|json)\b/g, 'X')
    .replaceAll(/\s*\n[\s>]*/g, ' ')
}
