import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for the PATH, with programs that record how they are called. */
export async function makeTools() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-tools-'))
  const calls = join(folder, 'calls.txt')
  const place = (name: string, script: string): Promise<void> =>
    writeFile(join(folder, name), `#!/bin/sh\necho "${name} $*" >> '${calls}'\n${script}\n`, { mode: 0o755 })
  return {
    folder,
    place,
    /** It pushes an empty index. */
    placeBuildah: () =>
      place(
        'buildah',
        [
          'if [ "$1" = --version ]; then echo "buildah version 1.2.3"; fi',
          'for last; do :; done',
          'if [ "$1 $2" = "manifest push" ]; then file=${last#oci:}; mkdir "${file%:*}"; echo {} > "${file%:*}/index.json"; fi',
        ].join('\n'),
      ),
    /** One line for each call, without its environment. */
    readCalls: async (): Promise<string[]> =>
      existsSync(calls) ? (await readFile(calls, 'utf8')).trimEnd().split('\n') : [],
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
