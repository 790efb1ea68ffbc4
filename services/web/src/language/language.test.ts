import { avatarColors } from '@gatehouse/contracts/constants'
import { expect } from 'chai'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { findRegistrationProblems } from '@gatehouse/client/registration'
import english from './english.json' with { type: 'json' }
import englishTexts from './english-texts.json' with { type: 'json' }
import german from './german.json' with { type: 'json' }
import { currentLanguage, findLanguage, loadLanguage, t } from './language.ts'

const web = join(import.meta.dirname, '..')
const root = join(web, '../../..')
const sources = listSources(web).filter((file) => !file.includes('/language/'))

describe('The languages of the web app', () => {
  it('are English, and German where the browser asks for it first', () => {
    expect(findLanguage(['de-AT', 'en'])).to.equal('de')
    expect(findLanguage(['', 'fr', 'DE'])).to.equal('de')
    expect(findLanguage(['en-GB', 'de'])).to.equal('en')
    expect(findLanguage(['fr', 'pt-BR'])).to.equal('en')
    expect(findLanguage([])).to.equal('en')
  })

  it('are those chosen last, also where the texts chosen before come later', async () => {
    const page = globalThis as { document?: unknown }
    page.document = { documentElement: {} }
    try {
      await loadLanguage('de')
      expect([currentLanguage(), t('Save')]).to.deep.equal(['de', 'Speichern'])

      await Promise.all([loadLanguage('de'), loadLanguage('en')])
      expect([currentLanguage(), t('Save')]).to.deep.equal(['en', 'Save'])
    } finally {
      delete page.document
    }
  })

  it('have the values in the places that the text has for them', () => {
    expect(t('{used} of {max} uses', { used: 2, max: 5 })).to.equal('2 of 5 uses')
    expect(t('Connect to {host}', { host: '{used}' })).to.equal('Connect to {used}')
  })

  it('have the same places in both languages', () => {
    const places = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort().join()
    for (const [key, text] of Object.entries({ ...german.texts, ...englishTexts }))
      expect(places(text), key).to.equal(places(key))
    for (const [key, text] of Object.entries(german.texts)) expect(places(text), key).to.equal(places(key))
  })

  it('have newer English texts only for keys of the app, and show them', () => {
    expect(t('Only suspended')).to.equal('Suspended only')
    expect(Object.keys(german.texts)).to.include.members(Object.keys(englishTexts))
  })

  it('end what they say of a refusal as a sentence', () => {
    const texts = [german, english].flatMap(({ answers, refusals }) =>
      [answers, refusals].flatMap(Object.values<string>),
    )

    expect(texts.filter((text) => !/[.…]$/.test(text))).to.deep.equal([])
  })

  it('come from the catalogue everywhere: no component has a text of its own', () => {
    expect(sources.flatMap(findBareTexts)).to.deep.equal([])
  })

  it('are in the catalogue only as long as something shows them', () => {
    const shown = new Set<string>([...sources.flatMap(listLiterals), ...avatarColors])

    expect(Object.keys(german.texts).filter((text) => !shown.has(text))).to.deep.equal([])
  })

  it('know the messages of the client library and of the server by their words', () => {
    const folders = ['libs/client/src', 'libs/contracts/src', 'services', 'gateway/src'].map((folder) =>
      join(root, folder),
    )
    const said = new Set(folders.flatMap(listSources).flatMap(listLiterals))
    for (const entry of [
      { username: 'a', password: '', confirmation: 'b' },
      { username: 'ä b c', password: '', confirmation: '' },
    ]) {
      for (const problem of Object.values(findRegistrationProblems(entry))) said.add(problem)
    }

    for (const { answers } of [german, english])
      expect(Object.keys(answers).filter((text) => !said.has(text))).to.deep.equal([])
  })
})

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.ts$|node_modules|(^|\/)(dist|test)\//.test(file))
    .map((file) => join(folder, file))
}

function parse(file: string): ts.SourceFile {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true, kind)
}

function collect<T>(file: string, read: (node: ts.Node) => T[]): T[] {
  const found: T[] = []
  const visit = (node: ts.Node) => {
    found.push(...read(node))
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
}

function listLiterals(file: string): string[] {
  return collect(file, (node) => (ts.isStringLiteralLike(node) ? [node.text] : []))
}

const shownAttributes = /^(label|title|subtitle|hint|legend|submit|closeLabel|done|placeholder|alt|aria-label)$/
const untranslated = new Set(['chat.example', 'Gatehouse'])

/** Text between tags, in an attribute that is shown, or given to what shows it, that does not go through the catalogue. */
function findBareTexts(file: string): string[] {
  const isBare = (text: string) => /[A-Za-z]{2}/.test(text) && !untranslated.has(text.trim())
  return collect(file, (node) => {
    const place = relative(web, file)
    if (ts.isJsxText(node) && isBare(node.text)) return [`${place}: ${node.text.trim()}`]
    if (!ts.isStringLiteralLike(node) || !isBare(node.text)) return []
    const { parent } = node
    const isShown = ts.isJsxAttribute(parent) && shownAttributes.test(parent.name.getText())
    const isChild = isShownChild(node)
    const isGiven = ts.isCallExpression(parent) && /^(showToast|submitLabel)$/.test(parent.expression.getText())
    return isShown || isChild || isGiven ? [`${place}: ${node.text}`] : []
  })
}

/** Whether a text is what `{…}` between tags shows: itself, or one of its alternatives. */
function isShownChild(text: ts.Node): boolean {
  let node = text
  while (ts.isConditionalExpression(node.parent) || ts.isBinaryExpression(node.parent)) {
    if (ts.isConditionalExpression(node.parent) && node.parent.condition === node) return false
    if (ts.isBinaryExpression(node.parent) && /[=!]==/.test(node.parent.operatorToken.getText())) return false
    node = node.parent
  }
  return ts.isJsxExpression(node.parent) && !ts.isJsxAttribute(node.parent.parent)
}
