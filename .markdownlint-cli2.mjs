import relativeLinks from 'markdownlint-rule-relative-links'
import { plainWords, sentenceLength } from './tools/writing/rules.ts'

/** Pages whose words are not clean yet. Their links are checked. */
const notClean = ['docs/specification.md']

/** Pages that show the words they replace. */
const vocabulary = ['docs/style.md', 'docs/glossary.md']

export default {
  globs: [
    'README.md',
    'CHANGELOG.md',
    'docs/**/*.md',
    'libs/*/README.md',
    'services/*/README.md',
    'tools/README.md',
    'bench/README.md',
    'deploy/importer/README.md',
  ],
  noBanner: true,
  noProgress: true,
  customRules: [relativeLinks, plainWords, sentenceLength],
  config: {
    default: false,
    'link-fragments': true,
    'relative-links': true,
    'plain-words': true,
    'sentence-length': { max: 30 },
  },
  overrides: [
    { filter: notClean, config: { 'plain-words': false, 'sentence-length': false }, combine: 'merge' },
    { filter: vocabulary, config: { 'plain-words': false }, combine: 'merge' },
  ],
}
