import { expect, test } from 'vitest'
import { activityLine } from './activity-line.ts'

test.each([
  [['/bin/bash', '-lc', 'npm test'], 'npm test'],
  [['bash', '-c', '#!/bin/bash\nset -euo pipefail\n\n  make all\nmake install'], 'make all'],
  [['zsh', '-ilc', '# only a remark'], '# only a remark'],
  [['bash', '-c', ''], "bash -c ''"],
  [['git', 'commit', '-m', 'two words'], "git commit -m 'two words'"],
  [['bash', 'script.sh'], 'bash script.sh'],
  [['/bin/bash', '-lc', 'x'.repeat(1000)], `${'x'.repeat(300)}…`],
])('%j reads %s', (argv, line) => expect(activityLine(argv)).toBe(line))
