"""Statements on plain ints that Python and a kernel run alike; see ``test_control_flow``.

Each snippet may read ``i`` and ``n`` and changes ``r``, which begins as 0.
"""

SNIPPETS = {
    "for break": """
for k in range(n):
    if k == i:
        break
    r += k
""",
    "for continue": """
for k in range(n):
    if k % 3 == i % 3:
        continue
    r += k
""",
    "for both": """
for k in range(n):
    if k == i:
        continue
    if k > i + 2:
        break
    r += k * 10
""",
    "for else": """
for k in range(n):
    if k == i:
        break
    r += 1
else:
    r += 1000
""",
    "for nested": """
for k in range(n):
    for j in range(k):
        if j == i:
            break
        if j % 2:
            continue
        r += j * 7 + k
    else:
        r += 100000
    if k == i + 3:
        break
""",
    "for keeps its last": """
k = 0
for k in range(i, n, 2):
    r += 1
r = r * 100 + k
""",
    "for changes inside": """
for k in range(n):
    k = k * 2
    r += k
""",
    "for backwards": """
for k in range(n, -i, -2):
    r = r * 3 + k
""",
    "for never": """
for k in range(n, i - 100):
    r += 1
else:
    r += 5
""",
    "while break": """
k = 0
while k < n:
    if k == i:
        break
    k += 1
r = k
""",
    "for name reused in while": """
for k in range(i):
    r += k
k = n
while k > 0:
    k -= 2
    if k == i:
        continue
    r += k * 10
    for k in range(k, k - 1):
        r += 1000
""",
    "while continue": """
k = 0
while k < n:
    k += 1
    if k % 2 == i % 2:
        continue
    r += k
""",
    "while both": """
k = 0
while True:
    k += 1
    if k > n:
        break
    if k == i:
        continue
    r += k
""",
    "while else": """
k = 0
while k < n:
    if k == i:
        break
    k += 1
else:
    r = 77
""",
    "while nested": """
k = 0
while k < n:
    j = 0
    k += 1
    while True:
        j += 1
        if j > k:
            break
        if j == i:
            continue
        r += j
    if r > 60:
        break
else:
    r = -r
""",
    "name used again": """
for k in range(n):
    r += k
k = i
while k < n:
    k += 2
    r += 1
r += k * 1000
""",
    "chain": """
if 0 < i < n:
    r += 1
if 0 <= i < n <= 9 != i:
    r += 10
if i < 5 > n:
    r += 100
""",
    "chain of equals": """
r = 1 if i == n == 4 else (2 if i != n != 4 else 3)
""",
    "conditional": """
r = (i if i > n else n) - (1 if i == n else (2 if i < n else 3)) * 100
""",
    "and or": """
r = 1 if (i > 2 and n > 2) or (i == 0 and not n == 0) else 0
""",
    "elif": """
if i == 0:
    r = 5
elif i == 1 and n > 3:
    r = 6
elif n == 2:
    pass
else:
    r = 8
""",
    "swap": """
a = i
b = n
for k in range(i + 1):
    a, b = b, a + b
r = a * 100 + b
""",
    "floor": """
for d in range(-3, 4):
    if d != 0:
        r = r * 5 + (i - 4) // d + (n - 9) % d
""",
}
