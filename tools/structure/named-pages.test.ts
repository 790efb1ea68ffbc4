import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from '../setup/project.js'

const folders = '{.ci,bench,deploy,examples,gateway,libs,services,test,tools}'
const sources = globSync([`${folders}/**/*.{ts,tsx,js,py,sh,yml,yaml,conf}`, `${folders}/**/Dockerfile`, '.ci/run'], {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
})

/** They name invented pages. */
const inventing = ['tools/structure/named-pages.test.ts', 'tools/test-runner/select-files.test.ts']

/** The pages that comments name by their path in the project. */
function readNamedPages(source: string): string[] {
  const comments = source.split('\n').filter((line) => /\/\/|\/\*|^\s*[*#]/.test(line))
  return comments.flatMap((line) => line.match(/\b(?:docs|bench)\/[\w/-]+\.md\b/g) ?? [])
}

describe('the pages that comments name', () => {
  it('are read from comments of each form', () => {
    const source =
      '// docs/one.md 3.\n/** In docs/two/three.md. */\n * bench/four.md\n# docs/five.md\nread("docs/six.md")'

    expect(readNamedPages(source)).to.deep.equal(['docs/one.md', 'docs/two/three.md', 'bench/four.md', 'docs/five.md'])
  })

  it('exist', () => {
    const mentions = sources
      .filter((file) => !inventing.includes(file))
      .flatMap((file) => readNamedPages(readFileSync(join(root, file), 'utf8')).map((page) => ({ file, page })))

    expect(mentions.length).to.be.greaterThan(50)
    expect(mentions.filter(({ page }) => !existsSync(join(root, page)))).to.deep.equal([])
  })
})
