import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import ts from 'typescript'
import { parse, parseAllDocuments } from 'yaml'
import { projectRoot, readText } from './read-manifests.ts'

type Rendered = { apiVersion: string; kind: string; metadata: { name: string; namespace?: string } }

/** The module of the Kubernetes API's published schemas that has this kind. */
function moduleOf({ apiVersion, kind }: Rendered): string {
  return `kubernetes-models/${apiVersion}/${kind}`
}

/** The class of a kind: it validates by the schema. Throws where the API knows no such kind. */
async function validate(object: Rendered): Promise<void> {
  const { [object.kind]: Model } = (await import(moduleOf(object))) as Record<
    string,
    new (given: Rendered) => Validated
  >
  new Model!(object).validate()
}
type Validated = { validate(): void }

const compilerOptions: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts'],
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  types: [],
}
const parsedFiles = new Map<string, ts.SourceFile | undefined>()

/** Parses each file once for all programs, except for `changing`. */
function rememberingHost(changing: string): ts.CompilerHost {
  const host = ts.createCompilerHost(compilerOptions)
  const parse = host.getSourceFile.bind(host)
  host.getSourceFile = (name, ...rest) => {
    if (name === changing) return parse(name, ...rest)
    if (!parsedFiles.has(name)) parsedFiles.set(name, parse(name, ...rest))
    return parsedFiles.get(name)
  }
  return host
}

/** Fields that the API does not know: a schema ignores them, and so would the API server. */
function listUnknownFields(objects: readonly Rendered[], folder: string): string[] {
  const lines = objects.map((object, index) => {
    const { kind } = object
    const type = `import type { I${kind} as Kind${index} } from '${moduleOf(object)}'`
    return `${type}\nexport const object${index}: Kind${index} = ${JSON.stringify(object)}`
  })
  const file = join(folder, 'objects.ts')
  writeFileSync(file, lines.join('\n'))
  const program = ts.createProgram([file], compilerOptions, rememberingHost(file))
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file))
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

/** The files of a Kustomize folder as they stand, where kubectl is not there to render them. */
function readFiles(folder: string): Rendered[] {
  const { resources } = parse(readText(`${folder}/kustomization.yaml`)) as { resources: string[] }
  return resources
    .filter((resource) => resource.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readText(`${folder}/${file}`)).map((document) => document.toJS() as Rendered))
}

function hasKubectl(): boolean {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('the Kubernetes manifests', function () {
  this.timeout(120_000)
  const base = 'deploy/kubernetes/base'
  const example = 'deploy/kubernetes/example'
  let folder: string
  before(() => {
    // Below the project, so that the packages are found.
    folder = mkdtempSync(join(projectRoot, 'node_modules', '.kubernetes-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it("match the API's published schemas, and have no field that it does not know", async () => {
    const objects = [...readFiles(base), ...readFiles(example)]
    for (const object of objects) await validate(object)
    expect(listUnknownFields(objects, folder)).to.deep.equal([])
  })

  it('are refused with a value of another type, and with a misspelt field', async () => {
    const [deployment] = readFiles(base).filter(({ kind }) => kind === 'Deployment') as (Rendered & { spec: object })[]
    const wrongType = { ...deployment!, spec: { ...deployment!.spec, replicas: 'two' } }
    const misspelt = { ...deployment!, spec: { ...deployment!.spec, replcas: 2 } }
    const refusal = await validate(wrongType).then(
      () => null,
      (err: Error) => err.message,
    )
    expect(refusal).to.include('replicas')
    expect(listUnknownFields([misspelt], folder).join()).to.include('replcas')
  })

  it('render for the example, copied as operators.md says, with the names of Secret and ConfigMaps in every reference', async function () {
    if (!hasKubectl()) {
      process.stdout.write('SKIPPED: kubectl is not on the PATH\n')
      this.skip()
    }
    const rendered = renderCopy()
    for (const object of rendered) await validate(object)
    expect(listUnknownFields(rendered, folder)).to.deep.equal([])
    const made = rendered
      .filter(({ kind }) => kind === 'Secret' || kind === 'ConfigMap')
      .map(({ metadata }) => metadata.name)
    const referred = JSON.stringify(rendered).matchAll(/"(?:secretKeyRef|configMapRef)":\{[^}]*"name":"([^"]+)"/g)
    expect([...new Set([...referred].map(([, name]) => name))]).to.have.members(made)
    for (const { kind, metadata } of rendered)
      if (kind !== 'Namespace') expect(metadata.namespace).to.equal('gatehouse')
  })
})

/** The example as an operator renders it: copied beside the base, with secrets of its own. */
function renderCopy(): Rendered[] {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-kustomize-'))
  try {
    cpSync(resolve(projectRoot, 'deploy/kubernetes/base'), join(folder, 'base'), { recursive: true })
    cpSync(resolve(projectRoot, 'deploy/kubernetes/example'), join(folder, 'my-instance'), { recursive: true })
    execFileSync('sh', [resolve(projectRoot, 'deploy/make-secrets.sh'), join(folder, 'my-instance/secrets')])
    const text = execFileSync('kubectl', ['kustomize', join(folder, 'my-instance')], { encoding: 'utf8' })
    return parseAllDocuments(text).map((document) => withoutLineBreaks(document.toJS() as Rendered))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Kustomize breaks the lines of long base64, which the API server reads and the schema's format does not. */
function withoutLineBreaks(object: Rendered & { data?: Record<string, string> }): Rendered {
  if (object.kind !== 'Secret' || !object.data) return object
  const data = Object.entries(object.data).map(([key, value]) => [key, value.replaceAll('\n', '')])
  return { ...object, data: Object.fromEntries(data) as Record<string, string> } as Rendered
}
